"""A server that went away: reported before everything that its absence looked like."""

import math

import pytest
from inline_snapshot import snapshot

from dbdyno.explain.explain import explain
from dbdyno.explain.rule import NotFound
from dbdyno.model.record import Finding
from tests.explain.made import CORE_S, with_processors
from tests.explain.rule_outcomes import outcome_of, text_of
from tests.explain.test_lock_rules import failing
from tests.support.recordings import MadeRun

GONE_S = 4


def run_until(gone_s=GONE_S, *, seconds=6, clients=4):
    """Throughput stops with the server, ``gone_s`` before the end of the run."""
    ok = [1000] * (3 + seconds - gone_s) + [0] * gone_s
    return MadeRun(ok, seconds=seconds, clients=clients)


def test_a_server_that_does_not_come_back():
    run = run_until().outage(2, math.nan, connections_lost=4)
    finding = outcome_of("outage", run)
    assert finding.share == pytest.approx(4 / 6)
    assert finding.evidence["came_back"] is False
    assert text_of(finding) == snapshot("""\
critical: Outage: the server did not come back
All clients lost their connections, until the end of the run: 4 s of 6 s passed
without a server.
4 connections lost: server closed the connection unexpectedly.
For 4 s of that time no transaction completed.
""")


def test_an_outage_is_attributed_to_no_other_cause():
    run = with_processors(run_until(), server=0.1, others=1.75)
    run.counters("busiest", {"cpu_us": 1.7 * CORE_S}, of="rustc/4711")
    recording = run.outage(2, math.nan, connections_lost=4).loaded()
    assert isinstance(outcome_of("cpu_others", recording), Finding)
    findings = explain(recording).findings
    assert [one.id for one in findings if one.severity != "note"] == ["outage"]


def test_a_restart_that_the_log_reports():
    run = MadeRun(seconds=60, clients=4).log(21.5, "start")
    # Two engine threads lost two connections each, and saw the outage end at different times.
    run = run.outage(20, 2, connections_lost=2).outage(20.1, 2.4, connections_lost=2)
    finding = outcome_of("outage", run)
    assert finding.evidence["outages"] == 1
    assert finding.evidence["seconds"] == pytest.approx(2.5)
    assert finding.share == pytest.approx(2.5 / 60)
    assert text_of(finding) == snapshot("""\
minor: Outage: connections to the server were lost
All clients lost their connections: 2.5 s of 60 s passed before the first
reconnect.
4 connections lost: server closed the connection unexpectedly.
The server's log shows a restart.
""")


def test_a_few_sessions_that_were_ended_are_a_note():
    run = MadeRun(seconds=60, clients=100).outage(10, 0.2).outage(30, 0.2)
    assert text_of(outcome_of("outage", run)) == snapshot("""\
note: Outage: connections to the server were lost
2 connections were lost in 2 outages: 0.4 s of 60 s passed before the first
reconnect.
2 connections lost: server closed the connection unexpectedly.
""")


@pytest.mark.parametrize(("count", "found"), [(4000, "failed_transactions"), (3999, "outage")])
def test_a_server_that_refuses_a_packet_has_not_gone_away(count, found):
    """It ends the connection with its error, once for each such statement."""
    too_long = {"failure_class": "connection", "code": "1153", "message": "packet too big"}
    run = run_until().outage(2, math.nan, connections_lost=4000)
    recording = failing(run, [too_long | {"count": count}], failed=4000)
    findings = explain(recording).findings
    assert findings[0].id == found
    assert ("max_allowed_packet" in findings[0].advice[0]) == (found == "failed_transactions")


def test_losses_during_the_warm_up_are_not_the_runs():
    run = MadeRun(seconds=60, clients=4).outage(-2, 1, connections_lost=4)
    assert isinstance(outcome_of("outage", run), NotFound)


def test_one_that_reaches_into_the_run_counts_from_its_begin():
    run = MadeRun(seconds=60, clients=4).outage(-2, 5, connections_lost=4)
    assert outcome_of("outage", run).evidence["seconds"] == pytest.approx(3)


def test_the_clients_that_went_on_are_not_counted():
    run = MadeRun(seconds=60, clients=8).outage(0, 30, connections_lost=2)
    assert outcome_of("outage", run).share == pytest.approx(2 * 30 / (8 * 60))


def test_a_session_that_ended_with_the_run_is_no_server_that_went_away():
    finding = outcome_of("outage", MadeRun(seconds=60, clients=100).outage(59.9, math.nan))
    assert finding.severity == "note"
    assert "1 connection was lost, until the end of the run" in finding.summary


def test_without_any_transactions_all_clients_had_lost_their_connection():
    run = run_until().outage(2, math.nan, connections_lost=1)
    finding = outcome_of("outage", run)
    assert (finding.severity, finding.evidence["came_back"]) == ("critical", False)
    assert finding.share == pytest.approx(4 / 6)


@pytest.mark.parametrize(("begin_s", "lost_s"), [(10, 8 * 4), (40, 64 * 4), (28, 8 * 2 + 64 * 2)])
def test_an_outage_takes_the_time_of_the_clients_of_its_stage(begin_s, lost_s):
    run = MadeRun(seconds=60, clients=64, stages=[(30, 8), (30, 64)])
    finding = outcome_of("outage", run.outage(begin_s, 4, connections_lost=64))
    assert finding.share == pytest.approx(lost_s / (8 * 30 + 64 * 30))
