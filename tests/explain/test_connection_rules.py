"""Too many connections, and connections that come and go."""

import numpy as np
import pytest
from inline_snapshot import snapshot

from dbdyno.explain.resources.network_time import network_time_of
from dbdyno.explain.rule import CouldNotLook, NotFound
from tests.explain.made import with_looks, with_processors
from tests.explain.rule_outcomes import outcome_of, reached, text_of
from tests.support.recordings import MadeRun, changed


def crowd(clients, *, server=1.8, tps=20_000, switches=5000, looks_s=0.5):
    """Select by key on two cores: all sessions that are not running queue for a core."""
    run = MadeRun(tps, clients=clients, seconds=20, engine={"round_trips": tps})
    with_looks(run, (0, "", "", clients - 1), (0, "Client", "ClientRead", 1), worth_s=looks_s)
    with_processors(run, server=server, engine=0.15)
    return run.counters("processes", {"involuntary_switches": switches}, of="server")


def test_two_hundred_clients_on_two_processors():
    finding = outcome_of("too_many_connections", crowd(200))
    # 1.8 are running, 1 of 200 is on the way; a transaction needs 90 µs of two cores.
    assert finding.evidence["knee_clients"] == pytest.approx(2.8 / 1.8 * 2, rel=0.02)
    assert finding.evidence["queued_share"] == pytest.approx(197.2 / 200, rel=0.01)
    assert text_of(finding) == snapshot("""\
critical: Too many connections for the CPU
200 clients share a CPU that about 3.11 clients keep busy: they spend 98.6 % of
their time waiting for it.
N = X·R: 20 000 TPS × 10 ms = 200 clients, of which 2.8 do not wait for CPU.
0.25 involuntary context switches per transaction.
""")


def test_a_queue_that_stands_before_the_generator_counts():
    """Sessions look idle: their clients' next turn waits for a core of the load generator."""
    run = MadeRun(20_000, clients=200, seconds=20, engine={"round_trips": 20_000})
    with_looks(run, (0, "Client", "ClientRead", 200))
    with_processors(run, server=1.8, engine=0.15)
    finding = outcome_of("too_many_connections", reached(run, tcp={"host": "::1", "port": 5432}))
    assert finding.evidence["queued_share"] == pytest.approx(0.98, rel=0.01)


@pytest.mark.parametrize("rule", ["too_many_connections", "row_lock_convoy"])
def test_clients_in_stages_are_not_judged_by_one_number(rule):
    run = MadeRun(20_000, clients=64, seconds=20, stages=[(10, 8), (10, 64)])
    with_looks(run, (0, "", "", 63), (0, "Lock", "transactionid", 1))
    outcome = outcome_of(rule, with_processors(run, server=1.8, engine=0.15))
    assert isinstance(outcome, CouldNotLook | NotFound)
    assert rule != "too_many_connections" or "in stages" in outcome.reason


def test_clients_of_a_later_stage_have_no_time_to_connect():
    run = MadeRun(500, clients=64, seconds=20, stages=[(10, 4), (10, 64)]).connects(6.0, count=500)
    assert outcome_of("connection_churn", run).share == pytest.approx(3 * 20 / (4 * 10 + 64 * 10))


@pytest.mark.parametrize("clients", [2, 4, 8, 12])
def test_as_many_as_keep_the_processors_busy_are_not_too_many(clients):
    assert isinstance(outcome_of("too_many_connections", crowd(clients)), NotFound)


def test_looks_that_came_too_late_are_no_work():
    """A quarter of the time was not sampled: clients worked no more in it than in the rest."""
    whole = outcome_of("too_many_connections", crowd(200)).evidence
    seen_in_part = outcome_of("too_many_connections", crowd(200, looks_s=3 / 8)).evidence
    assert seen_in_part["knee_clients"] == pytest.approx(whole["knee_clients"], rel=0.02)


def test_samples_that_missed_too_much_show_no_queue():
    outcome = outcome_of("too_many_connections", crowd(200, looks_s=1 / 3))
    assert isinstance(outcome, CouldNotLook)
    assert "33.3\u202f% of client time was not sampled" in outcome.reason


def test_waits_for_latches_are_no_work_of_a_transaction_alone():
    """40 of 200 clients wait for latches whose holders have lost their cores."""
    run = MadeRun(20_000, clients=200, seconds=20, engine={"round_trips": 20_000})
    with_looks(run, (0, "", "", 159), (0, "LWLock", "BufferMapping", 40), (0, "Client", "x", 1))
    finding = outcome_of("too_many_connections", with_processors(run, server=1.8, engine=0.15))
    assert finding.evidence["knee_clients"] == pytest.approx(2.8 / 1.8 * 2, rel=0.02)


def test_a_queue_before_processors_that_are_not_full_is_no_crowd():
    outcome = outcome_of("too_many_connections", crowd(200, server=0.5, tps=5000))
    assert isinstance(outcome, NotFound)
    assert "CPU utilization was" in outcome.reason


def test_could_not_look_without_the_servers_cpu_time():
    run = with_looks(MadeRun(), (0, "", "", 8))
    assert isinstance(outcome_of("too_many_connections", run), CouldNotLook)
    assert isinstance(outcome_of("too_many_connections", MadeRun()), CouldNotLook)


def test_a_connection_for_each_transaction():
    run = MadeRun(500, clients=4, seconds=20).connects(6.0, count=500)
    run.counters("pg_stat_database", {"sessions": 500})
    finding = outcome_of("connection_churn", run)
    assert finding.share == pytest.approx(0.75)
    assert finding.certainty == "sure"
    assert text_of(finding) == snapshot("""\
critical: Connection churn
Clients spent 75 % of their time connecting: 500 connections per second at 6 ms
each.
Connections per transaction: 1.
The server counted 10 000 new sessions.
""")


def test_sessions_that_others_open_after_the_load_are_none_of_the_run():
    run = MadeRun(500, clients=4, seconds=20).connects(6.0, count=500)
    times = [*range(1, 21), 50]  # the last reading is long after the end
    run.counters("pg_stat_database", {"sessions": [500] * 20 + [90_000]}, at_s=times)
    opened = outcome_of("connection_churn", run).evidence["server_sessions"]
    assert opened == pytest.approx(10_000, rel=0.1)


def test_reconnects_after_a_loss_are_below_the_noise():
    run = MadeRun(500, clients=4, seconds=20).connects(6.0, count=4)
    assert isinstance(outcome_of("connection_churn", run), NotFound)


def test_connections_before_the_load_do_not_count():
    assert isinstance(outcome_of("connection_churn", MadeRun()), NotFound)


def test_could_not_look_at_a_run_that_measured_nothing():
    empty = MadeRun(0, seconds=1, warmup=3)
    empty.connects(6.0, count=500)
    assert isinstance(outcome_of("connection_churn", empty), CouldNotLook)


def test_the_way_to_several_servers_has_no_one_length():
    """Round trips are counted at all of them, and sessions are sampled at the first."""
    run = crowd(8).loaded()
    one, other = (
        changed(run, columns={"server_intervals": {"server": np.array([number])}})
        for number in (0, 1)
    )
    assert network_time_of(one).trip_s > 0
    assert network_time_of(other) is None
    assert isinstance(outcome_of("round_trips", other), CouldNotLook)
    assert not isinstance(outcome_of("own_work", other), CouldNotLook)
    assert not isinstance(outcome_of("too_many_connections", other), CouldNotLook)
