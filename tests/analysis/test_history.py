"""Change points between runs: where they were planted, and how often there are none."""

import numpy as np
import pytest
from msgspec.structs import replace

from dbdyno.analysis.compare.history import history, level_changes
from tests.analysis.records import record
from tests.report.explained import FUNCTIONS
from tests.support.profiles import profile

NOISE = 0.03


def series(levels, chance, noise=NOISE):
    """Logarithms of throughput; ``levels`` are (tps, runs)."""
    return np.concatenate([np.log(tps) + chance.normal(0, noise, runs) for tps, runs in levels])


@pytest.mark.parametrize(
    "levels",
    [
        [(1000, 20), (900, 20)],
        [(1000, 40), (900, 4)],
        [(1000, 15), (900, 6), (1000, 15)],
        [(1000, 60), (1100, 30), (1200, 40)],
    ],
    ids=["one", "lately", "there and back", "long"],
)
def test_changes_are_found_where_they_were_made(levels):
    """In nine histories of ten: exactly these, each at most one run off."""
    chance = np.random.default_rng(1)
    made = np.cumsum([runs for _, runs in levels])[:-1]
    right = 0
    for _ in range(50):
        found = level_changes(series(levels, chance, noise=0.02))
        right += len(found) == len(made) and np.abs(np.subtract(found, made)).max() <= 1
    assert right >= 45


@pytest.mark.parametrize("runs", [10, 30, 100])
def test_a_level_history_rarely_has_a_change(runs):
    chance = np.random.default_rng(2)
    found = [level_changes(series([(1000, runs)], chance)) for _ in range(200)]
    assert sum(map(bool, found)) <= 10


def test_costs_that_changed_with_throughput_are_named_with_their_interval():
    """WAL per transaction grew; CPU time did not, and one run lacks it."""
    chance = np.random.default_rng(3)
    runs = []
    for tps, wal in [*[(1000, 400)] * 12, *[(850, 520)] * 10]:
        costs = {"wal_bytes": wal * np.exp(chance.normal(0, 0.01)), "server_cpu_us": 100.0}
        costs["server_cpu_us"] *= np.exp(chance.normal(0, 0.01))
        runs.append(record(tps * np.exp(chance.normal(0, NOISE)), costs=costs))
    runs.insert(5, record(1000))
    of_throughput, of_processor, of_wal = history(runs)
    assert of_throughput.metric.id == "throughput_tps"
    (change,) = of_throughput.changes
    assert change.index == 13
    assert change.ratio == pytest.approx(0.85, rel=0.03)
    assert change.before > change.after
    (moved,) = change.moved
    assert moved.id == "wal_bytes"
    assert moved.low < moved.ratio < moved.high
    assert moved.ratio == pytest.approx(1.3, rel=0.02)
    assert of_processor.changes == ()
    assert of_processor.values[5] is None
    assert [one.index for one in of_wal.changes] == [13]


@pytest.mark.parametrize(
    ("tps", "index"),
    [((48, 60, 2800, 2000), 2), ((48, 2800, 2790, 2805), 1), ((1000, 990, 1010, 1005, 300), 4)],
)
def test_a_jump_among_few_runs_is_suspected(tps, index):
    (found,) = history([record(value) for value in tps], ["throughput_tps"])
    assert found.changes == ()
    assert found.suspected.index == index


@pytest.mark.parametrize("runs", [4, 10, 30])
def test_a_level_history_rarely_gives_cause_for_suspicion(runs):
    chance = np.random.default_rng(4)
    made = (np.exp(series([(1000, runs)], chance)) for _ in range(200))
    found = (history([record(value) for value in tps], ["throughput_tps"])[0] for tps in made)
    assert sum(one.suspected is not None for one in found) <= 4


def test_a_change_too_small_to_matter_is_none():
    """A level known to the last digit differs with certainty, but by nothing that matters."""
    runs = [record(costs={"round_trips": trips}) for trips in [7.0] * 10 + [7.001] * 10]
    (found,) = history(runs, ["round_trips"])
    assert found.changes == ()


def test_few_runs_and_what_was_not_measured_have_no_history():
    assert [one.changes for one in history([record(1000), record(500), record(1000)])] == [()]
    assert history([record(1000)], ["wal_bytes"]) == []
    assert history([]) == []
    assert history([record(costs={"wal_bytes": 0})] * 5, ["wal_bytes"]) == []


def test_the_function_that_changed_with_the_level_is_named():
    """Runs without a profile, as at another level of telemetry, do not hide it."""
    chance = np.random.default_rng(11)
    runs = []
    for tps, slower_us in [*[(1000, 0.0)] * 12, *[(850, 2.0)] * 10]:
        us = FUNCTIONS | {("memory", "palloc"): 2.0 + slower_us}
        noisy = {name: value * np.exp(chance.normal(0, 0.03)) for name, value in us.items()}
        made = record(tps * np.exp(chance.normal(0, NOISE)))
        runs.append(replace(made, server_profile=profile(noisy)))
    runs.insert(5, record(1000))
    (change,) = history(runs, ["throughput_tps"])[0].changes
    assert change.index == 13
    assert [one.subsystem for one in change.server_subsystems] == ["memory"]
    (function,) = change.server_functions
    assert function.function == "palloc"
    assert function.low_us < 2.0 < function.high_us
    bare = [replace(run, server_profile=None) for run in runs[:12]] + runs[12:]
    (change,) = history(bare, ["throughput_tps"])[0].changes
    assert change.server_functions == ()
