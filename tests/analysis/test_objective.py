"""Compliance of a run with an objective, counted again from the transactions themselves."""

import numpy as np
import pytest

from dbdyno.analysis.search.objective import Objective
from dbdyno.analysis.search.objective_windows import (
    Windows,
    concatenated,
    evaluate,
    objective_windows,
)
from dbdyno.store.run import open_run
from dbdyno.store.writer import RunWriter
from tests.store import hdr, synthetic
from tests.store.hdr import HISTOGRAMS


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    shape = synthetic.Shape(seconds=20, warmup=2, tps=400, open_loop=True)
    with RunWriter(synthetic.record(), synthetic.plan(), home) as writer:
        for frame in synthetic.packed(shape):
            writer.append_frame(frame)
        return open_run(writer.run_id, home).load(HISTOGRAMS)


def exact_share_above(recording, limit_ms):
    totals = recording.columns["totals"]
    of_all = totals["kind"] == "script_response"
    low, high, count = hdr.HISTOGRAMS.bar_columns(
        hdr.HISTOGRAMS.merge(totals["histogram"][of_all].tolist())
    )
    return count[(low + high) / 2 > limit_ms * 1e6].sum() / count.sum()


@pytest.mark.parametrize("limit_ms", [0.3, 0.9, 1.7, 5.3])
def test_the_slow_ones_of_all_windows_are_those_of_the_run(recording, limit_ms):
    found = objective_windows(recording, Objective(measure="p99", limit=limit_ms))
    counts = recording.as_recorded.engine["done"]["counters"]
    not_done = sum(
        counts[name] for name in ("failed", "skipped", "waiting", "in_flight", "unfinished")
    )
    slow = exact_share_above(recording, limit_ms) * counts["ok"]
    assert found.bad.sum() == pytest.approx(slow + not_done, rel=0.01, abs=2)
    assert found.total.sum() == counts["ok"] + not_done
    assert (found.bad <= found.total).all()


def test_failures_are_of_what_ended(recording):
    found = objective_windows(recording, Objective(measure="failures", limit=0.01))
    counts = recording.as_recorded.engine["done"]["counters"]
    assert found.bad.sum() == counts["failed"] > 0
    assert found.total.sum() == counts["failed"] + counts["ok"]


def test_means_of_windows_make_the_mean_of_the_run(recording):
    found = objective_windows(recording, Objective(measure="mean", limit=1.0))
    histograms = recording.totals.histogram
    of_all = recording.totals.kind == "script_response"
    low, high, count = hdr.HISTOGRAMS.bar_columns(hdr.HISTOGRAMS.merge(histograms[of_all].tolist()))
    exact_ms = ((low + high) / 2 * count).sum() / count.sum() / 1e6
    assert np.average(found.mean_ms, weights=found.total) == pytest.approx(exact_ms, rel=0.01)
    assert found.total.sum() == count.sum()


@pytest.mark.parametrize(
    ("objective", "judgement"),
    [
        (Objective(measure="p50", limit=5.0), "met"),
        (Objective(measure="p99", limit=0.5), "missed"),
        (Objective(measure="mean", limit=100.0), "met"),
        (Objective(measure="mean", limit=0.1), "missed"),
        (Objective(measure="failures", limit=0.5), "met"),
    ],
)
def test_a_value_far_from_its_limit_is_decided(objective, judgement):
    """Consecutive windows: 2 % slow transactions, a mean of about 2 ms."""
    chance = np.random.default_rng(5)
    bad, total = chance.binomial(100, 0.02, 60).astype(float), np.full(60, 100.0)
    found = Windows(bad, total, chance.normal(2.0, 0.1, 60))
    assert evaluate(objective, found, error=0.01).judgement == judgement


def test_windows_of_several_runs_follow_each_other(recording):
    found = objective_windows(recording, Objective(measure="p99", limit=5.0))
    assert concatenated([found, found]).bad.tolist() == [*found.bad.tolist()] * 2


@pytest.mark.parametrize(
    ("objective", "text", "share"),
    [
        (Objective(measure="p99", limit=10), "p99 < 10\u202fms", 0.01),
        (Objective(measure="p999", limit=1500), "p99.9 < 1.5\u202fs", 0.001),
        (Objective(measure="failures", limit=0.02), "failures < 2\u202f%", 0.02),
    ],
)
def test_an_objective_in_words_and_as_a_share(objective, text, share):
    assert objective.text == text
    assert objective.share_allowed == pytest.approx(share)
