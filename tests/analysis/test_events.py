import math

import numpy as np
import pytest

from dbdyno.analysis.events.events import events
from tests.support.recordings import MadeRun

SECONDS = 60


def steady(noise=20, seed=2, seconds=SECONDS, warmup=0):
    return np.random.default_rng(seed).normal(1000, noise, seconds + warmup)


def run(ok=None, **options):
    return MadeRun(steady() if ok is None else ok, seconds=SECONDS, warmup=0, **options)


def found(made, kind=None):
    return [event for event in events(made.loaded()) if kind in (None, event.kind)]


def changed(begin, end, factor):
    ok = steady()
    ok[begin:end] *= factor
    return ok


@pytest.mark.parametrize("noise", [0, 5, 20, 100])
def test_a_steady_run_has_no_events(noise):
    """In 20 runs of a minute each: any event found in noise is one too many."""
    found = [events(run(steady(noise, seed)).loaded()) for seed in range(20)]
    assert sum(map(bool, found)) == 0


@pytest.mark.parametrize("tps", [1, 5, 50])
def test_a_steady_run_of_few_transactions_has_no_events(tps):
    arrivals = np.random.default_rng(8)
    found = [events(run(arrivals.poisson(tps, SECONDS)).loaded()) for _ in range(20)]
    assert sum(map(bool, found)) == 0


def test_a_slow_load_that_stands_still_for_long_has_stalled():
    ok = np.random.default_rng(8).poisson(5, SECONDS)
    ok[20:30] = 0
    (event,) = found(run(ok))
    assert (event.kind, event.begin_s, event.end_s) == ("stall", 20, 30)


def test_a_stall_is_reported_with_its_depth():
    (event,) = found(run(changed(20, 23, 0.01)))
    assert (event.kind, event.begin_s, event.end_s) == ("stall", 20, 23)
    assert event.depth == pytest.approx(0.99, abs=0.01)


@pytest.mark.parametrize("length", [1, 4, 8])
def test_a_dip_is_reported_once_with_its_depth(length):
    (event,) = found(run(changed(20, 20 + length, 0.7)))
    assert (event.kind, event.begin_s, event.end_s) == ("dip", 20, 20 + length)
    assert event.depth == pytest.approx(0.3, abs=0.03)


def test_a_fall_that_stays_is_a_change_of_level_and_no_dip():
    (event,) = found(run(changed(35, SECONDS, 0.8)))
    assert (event.kind, event.label) == ("level", "fall")
    assert (event.begin_s, event.end_s) == (pytest.approx(35, abs=1), SECONDS)
    assert event.depth == pytest.approx(0.2, abs=0.02)
    assert event.values["before_tps"] == pytest.approx(1000, abs=20)


def test_dips_on_a_lower_level_are_measured_against_it():
    ok = changed(30, SECONDS, 0.6)
    ok[45:48] *= 0.7
    level, dip = found(run(ok))
    assert (level.kind, dip.kind) == ("level", "dip")
    assert dip.depth == pytest.approx(0.3, abs=0.03)


def staged(factors, **events):
    """Thirty seconds at each factor; the noise grows with throughput."""
    ok = np.concatenate([steady(seconds=30, seed=seed) * by for seed, by in enumerate(factors)])
    for name, factor in events.items():
        ok[int(name[1:])] *= factor
    stages = [(30, int(8 * by)) for by in factors]
    return MadeRun(ok, seconds=len(ok), warmup=0, stages=stages)


@pytest.mark.parametrize("factors", [(1, 2, 4), (4, 2, 1), (0.01, 4), (1, 0), (1, 1)])
def test_stages_are_no_events(factors):
    assert found(staged(factors)) == []


def test_a_stage_has_dips_and_falls_of_its_own():
    (dip,) = found(staged((1, 4), t10=0.7))
    assert (dip.kind, dip.begin_s, dip.depth) == ("dip", 10, pytest.approx(0.3, abs=0.05))
    fallen = {f"t{second}": 0.8 for second in range(45, 60)}
    (level,) = found(staged((4, 1, 4), **fallen))
    assert (level.label, level.begin_s, level.end_s) == ("fall", 45, 60)


def test_an_event_near_a_stage_border_is_compared_with_its_own_stage():
    made = staged((1, 4)).log(26.0, "checkpoint_start").log(29.0, "checkpoint_end")
    assert found(made)[0].depth == pytest.approx(0, abs=0.1)
    made = staged((1, 4)).log(25.0, "checkpoint_start").log(35.0, "checkpoint_end")
    assert found(made)[0].depth is None


def test_few_intervals_show_nothing_and_break_nothing():
    assert events(MadeRun([5, 0, 9], seconds=3, warmup=0).loaded()) == []
    assert events(MadeRun(np.zeros(60), warmup=0).loaded()) == []
    assert events(MadeRun(np.empty(0), seconds=0, warmup=0).loaded()) == []


def test_a_checkpoint_in_the_log_has_its_phases():
    made = run(changed(10, 20, 0.5)).log(10.0, "checkpoint_start", reason="wal")
    made.log(20.0, "checkpoint_end", write_s=8.0, sync_s=1.5, total_s=10.0, buffers=700.0)
    (event,) = found(made, "checkpoint")
    assert (event.label, event.begin_s, event.end_s) == ("checkpoint (wal)", 10, 20)
    assert event.phases == (("write", 10, 18), ("sync", 18, 19.5))
    assert event.values["buffers"] == 700
    assert event.depth == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("length_s", [0.0, 0.1])
def test_an_event_too_short_for_the_loss_of_its_interval_has_no_depth(length_s):
    made = run(per_second(t20=-320) + 1000).log(20.2, "checkpoint_start")
    made.log(20.2 + length_s, "checkpoint_end", write_s=0.0, sync_s=0.0, total_s=length_s)
    assert [event.depth for event in found(made, "checkpoint")] == [None]


def test_checkpoints_at_the_edges_of_the_run():
    made = run().log(4.0, "checkpoint_end", write_s=5.0, sync_s=1.0, total_s=6.0)
    made.log(50.0, "checkpoint_start", reason="time")
    first, last = found(made, "checkpoint")
    assert (first.begin_s, first.end_s) == (-2, 4)
    assert (last.label, last.end_s) == ("checkpoint, unfinished", SECONDS)


def per_second(**at):
    """Deltas that are 0 except in the given seconds."""
    series = np.zeros(SECONDS)
    for second, delta in at.items():
        series[int(second[1:])] = delta
    return series


def test_checkpoints_that_immediately_follow_each_other_are_distinguished():
    made = run().log(4.0, "checkpoint_start", reason="wal")
    for begin, end in ((4.0, 10.0), (10.0, 15.0)):
        made.log(end, "checkpoint_end", write_s=1.0, sync_s=0.0, total_s=end - begin)
        made.log(end, "checkpoint_start", reason="wal")
    first, second, unfinished = found(made, "checkpoint")
    assert [(event.begin_s, event.end_s) for event in (first, second)] == [(4, 10), (10, 15)]
    assert unfinished.begin_s == 15


def test_without_a_log_checkpoints_come_from_counters():
    deltas = {
        "num_timed": per_second(t9=1),
        "num_requested": per_second(t29=1, t55=1),
        "write_time": per_second(t19=9000, t29=300),
        "sync_time": per_second(t19=500, t29=100),
    }
    made = run().counters("pg_stat_checkpointer", deltas)
    timed, requested, unfinished = found(made, "checkpoint")
    assert (timed.label, timed.begin_s, timed.end_s) == ("checkpoint (time)", 10.5, 20)
    assert timed.phases == (("write", 10.5, 19.5), ("sync", 19.5, 20))
    assert (requested.label, requested.begin_s) == ("checkpoint (requested)", pytest.approx(29.6))
    assert (unfinished.label, unfinished.begin_s) == ("checkpoint, unfinished", 56)


def test_a_checkpoint_that_begins_as_another_ends_is_the_next():
    deltas = {
        "num_requested": per_second(t5=1, t15=1),
        "write_time": per_second(t15=9000, t25=9000),
    }
    made = run().counters("pg_stat_checkpointer", deltas)
    assert [event.end_s for event in found(made, "checkpoint")] == [16, 26]


def test_autovacuums_are_found_per_table_in_log_and_counters():
    made = run().log(12.0, "autovacuum", table="accounts", elapsed_s=2.0)
    tables = "pg_stat_user_tables"
    made.counters(tables, {"autovacuum_count": per_second(t11=1)}, of="accounts")
    made.counters(tables, {"autovacuum_count": per_second(t30=1)}, of="history")
    made.levels("progress", {"total": per_second(t26=50, t27=50, t28=50)}, of="VACUUM/history")
    logged, counted = found(made, "autovacuum")
    assert (logged.label, logged.begin_s, logged.end_s) == ("autovacuum of accounts", 10, 12)
    assert (counted.label, counted.begin_s, counted.end_s) == ("autovacuum of history", 27, 31)
    assert counted.values["count"] == 1


def test_wal_switches_are_placed_to_the_reading():
    switched = np.zeros(SECONDS)
    switched[[10, 30, 31]] = 1, 1, 2
    lonely, together = found(run().counters("wal_position", {"segments": switched}), "wal_switch")
    assert (lonely.begin_s, lonely.end_s, lonely.values) == (10, 11, {"count": 1})
    assert (together.begin_s, together.end_s, together.values) == (30, 32, {"count": 3})


def test_deadlocks_that_follow_each_other_closely_are_one_event():
    made = run()
    for time_s in (10.0, 10.4, 11.2, 40.0):
        made.log(time_s, "deadlock")
    first, second = found(made, "deadlock")
    assert (first.begin_s, first.end_s, first.values["count"]) == (10, 11.2, 3)
    assert second.depth is None
    counted = run().counters("pg_stat_database", {"deadlocks": per_second(t20=2)})
    (event,) = found(counted, "deadlock")
    assert (event.begin_s, event.end_s, event.values["count"]) == (20, 21, 2)


def test_outages_of_several_threads_and_the_restart_are_one_event():
    made = run(changed(30, 34, 0)).log(-5.0, "start").log(33.0, "start")
    made.outage(30.0, 3.5, connections_lost=4).outage(30.1, 3.6, connections_lost=4)
    outage, stall = found(made)
    assert (outage.label, outage.begin_s, outage.end_s) == ("server restart", 30, 33.7)
    assert stall.kind == "stall"


def test_connections_that_never_came_back_were_lost_to_the_end():
    (event,) = found(run().outage(50.0, math.nan), "outage")
    assert (event.label, event.end_s) == ("connections lost", SECONDS)
