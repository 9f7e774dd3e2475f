import dataclasses

import numpy as np
import pytest

from dbdyno.analysis.events.losses import CHANCE_MAX, losses
from tests.analysis.series import autoregressive
from tests.support.recordings import MadeRun

SECONDS = 600
BASELINE = 1000


def noise(rng, phi=0.4, samples=SECONDS):
    return autoregressive(phi, samples, rng, mean=BASELINE, noise=20)


def made(ok):
    return MadeRun(ok, seconds=len(ok), warmup=0)


def checkpoint(run, begin, end):
    run.log(float(begin), "checkpoint_start").log(float(end), "checkpoint_end", total_s=end - begin)


def vacuum(run, begin, end):
    run.log(float(end), "autovacuum", table="accounts", elapsed_s=float(end - begin))


def lost(found):
    return {loss.kind: loss for loss in found.by_kind}


def test_a_run_without_events_has_no_measurable_loss():
    found = losses(made(noise(np.random.default_rng(1))).loaded())
    assert found.by_kind == []
    assert found.of_run == pytest.approx(0, abs=0.002)


@pytest.mark.parametrize("seed", range(4))
def test_planted_losses_are_found_within_their_intervals(seed):
    """Ten checkpoints of 10 s that cost 30 %, and twelve vacuums of 5 s that cost 15 %.

    Where they overlap, both losses apply.
    """
    rng = np.random.default_rng(seed)
    ok = noise(rng)
    begins = [range(20, SECONDS, 60), range(25, SECONDS, 48)]
    for begin in begins[0]:
        ok[begin : begin + 10] -= 300
    for begin in begins[1]:
        ok[begin : begin + 5] -= 150
    run = made(ok)
    for begin in begins[0]:
        checkpoint(run, begin, begin + 10)
    for begin in begins[1]:
        vacuum(run, begin, begin + 5)
    found = losses(run.loaded())
    checkpoints, vacuums = (lost(found)[kind] for kind in ("checkpoint", "autovacuum"))
    assert checkpoints.occurrences == 10
    assert checkpoints.low < 30_000 < checkpoints.high
    assert checkpoints.transactions == pytest.approx(30_000, rel=0.05)
    assert checkpoints.p_value < 0.01
    assert vacuums.low < 12 * 5 * 150 < vacuums.high
    assert found.transactions == pytest.approx(39_000, rel=0.1)
    assert checkpoints.of_run == pytest.approx(0.05, rel=0.1)
    assert found.unexplained == pytest.approx(0, abs=0.1)
    assert found.by_kind[0] is checkpoints


def test_losses_that_no_event_covers_are_unexplained():
    ok = noise(np.random.default_rng(3))
    for begin in range(20, SECONDS, 60):
        ok[begin : begin + 10] -= 300
        ok[begin + 30 : begin + 35] -= 600
    run = made(ok)
    for begin in range(20, SECONDS, 60):
        checkpoint(run, begin, begin + 10)
    found = losses(run.loaded())
    assert found.unexplained == pytest.approx(0.5, abs=0.05)
    assert found.of_run == pytest.approx(60_000 / (BASELINE * SECONDS), rel=0.1)


def test_a_dip_that_outlasts_its_event_is_the_events():
    """Checkpoints last one second; the page images that follow last ten."""
    ok = noise(np.random.default_rng(4), phi=0)
    run = made(ok)
    for begin in range(20, SECONDS, 60):
        ok[begin : begin + 10] -= 300
        checkpoint(run, begin, begin + 1)
    found = losses(made(ok).loaded(columns=run.loaded().columns | curve_of(ok)))
    assert lost(found)["checkpoint"].transactions == pytest.approx(30_000, rel=0.05)


def curve_of(ok):
    return {name: made(ok).loaded().columns[name] for name in ("intervals", "scripts")}


@pytest.mark.parametrize(("times", "length"), [(5, 4), (1, 12), (5, 30)])
def test_events_that_cost_nothing_are_claimed_no_more_often_than_agreed(times, length):
    """In runs with dips that nothing caused: 5 % of 100, plus two standard deviations."""
    claimed = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        ok = noise(rng, samples=240)
        for begin in rng.integers(0, 236, 4):
            ok[begin : begin + 4] -= 300
        run = made(ok)
        for begin in rng.choice(np.arange(0, 240 - length, length + 3), times, replace=False):
            vacuum(run, begin, begin + length)
        claimed += lost(losses(run.loaded()))["autovacuum"].transactions > 0
    assert claimed <= 100 * CHANCE_MAX + 2 * np.sqrt(100 * CHANCE_MAX)


def test_switches_of_the_wal_in_every_second_are_the_level_itself():
    run = made(noise(np.random.default_rng(1), samples=60))
    found = losses(run.counters("wal_position", {"segments": 2}).loaded())
    assert found is not None
    assert found.by_kind == []


def test_a_single_event_has_a_p_value_but_no_interval():
    ok = noise(np.random.default_rng(5))
    ok[100:130] -= 400
    run = made(ok)
    checkpoint(run, 100, 130)
    (loss,) = losses(run.loaded()).by_kind
    assert (loss.occurrences, loss.low, loss.high) == (1, None, None)
    assert loss.transactions == pytest.approx(12_000, rel=0.05)
    assert loss.p_value <= 0.01


def test_checkpoints_that_fill_most_of_the_run_are_held_against_the_gaps():
    ok = noise(np.random.default_rng(6))
    run = made(ok)
    for begin in range(5, SECONDS - 54, 60):
        checkpoint(run, begin, begin + 48)
    assert lost(losses(run.loaded()))["checkpoint"].transactions == 0
    for begin in range(5, SECONDS - 54, 60):
        ok[begin : begin + 48] -= 100
    slowed = run.loaded()
    slowed = dataclasses.replace(slowed, columns=slowed.columns | curve_of(ok))
    assert lost(losses(slowed))["checkpoint"].transactions == pytest.approx(48_000, rel=0.1)


def test_the_baseline_is_the_highest_level_that_was_kept():
    ok = noise(np.random.default_rng(7))
    ok[300:] -= 200
    found = losses(made(ok).loaded())
    assert found.transactions == pytest.approx(60_000, rel=0.05)
    assert found.unexplained == 1


def test_a_load_in_stages_has_no_baseline():
    """Half of the clients for half of the time: the work that they did not do is no loss."""
    ok = noise(np.random.default_rng(7), samples=120)
    ok[60:] /= 2
    run = MadeRun(ok, seconds=120, warmup=0, stages=[(60, 16), (60, 8)])
    checkpoint(run, 70, 110)
    assert losses(run.loaded()) is None


def test_events_outside_the_measured_part_cost_nothing():
    run = MadeRun(noise(np.random.default_rng(8), samples=63), seconds=60, warmup=3)
    run.log(-1.0, "deadlock").log(75.0, "deadlock")
    assert losses(run.loaded()).by_kind == []


def test_too_few_intervals_give_no_baseline():
    assert losses(made(np.full(9, 1000)).loaded()) is None
    run = made(noise(np.random.default_rng(9), samples=60))
    checkpoint(run, 1, 59)
    assert losses(run.loaded()) is None
