"""What makes a run invalid, and what does not."""

import pytest
from msgspec import structs

from dbdyno.analysis.waits.disturbance import Disturbance
from dbdyno.explain.statements.misses import Misses
from dbdyno.model.plan import Stage
from dbdyno.run.measure import Measured
from dbdyno.run.verdict import Evidence
from tests.analysis.test_workers import part
from tests.support.frames import SECOND_NS, counters, done
from tests.support.plans import plan_of

PLAN = plan_of(duration_ns=30 * SECOND_NS)


def reasons(finished, plan=PLAN, failures_max=0.01, violations=(), disturbance=None, **measured):
    evidence = Evidence(
        plan=plan,
        measured=Measured(done=finished, **measured),
        violations=violations,
        disturbance=disturbance,
        misses=Misses(),
        script_failure=None,
        failures_max=failures_max,
        disturbance_max=0.25,
    )
    return evidence.invalid_reasons


def test_a_complete_run_is_valid():
    assert reasons(done()) == []


def test_the_engines_own_reasons_come_first():
    found = reasons(done(invalid_reasons=["the generator was the bottleneck"]), violations=["x"])
    assert found == ["the generator was the bottleneck", "invariant violated: x"]


def test_whom_the_others_waited_for_is_named():
    (reason,) = reasons(None, was_silent=True, awaited="worker h3 sent no further numbers")
    assert reason == "the engine fell silent and was ended: worker h3 sent no further numbers"
    assert reasons(None, was_silent=True) == ["the engine fell silent and was ended"]


@pytest.mark.parametrize("end", ["interrupted", "aborted", "stalled"])
def test_a_run_that_was_ended(end):
    assert reasons(done(end, reason="why")) == [f"the run was {end}: why"]
    nothing = done(end, reason="why", counted=structs.replace(counters(0, 0), due=70, waiting=70))
    assert reasons(nothing) == [f"the run was {end}: why"]


def test_a_silent_server_may_have_computed():
    (reason,) = reasons(done("stalled", reason="the server stopped answering"))
    assert reason.startswith("the run was stalled: the server stopped answering for 60\u202fs: if ")
    assert "raise --stall-limit" in reason


def test_a_run_that_ended_too_early():
    assert reasons(done(measured_ns=20 * SECOND_NS)) == [
        "the run ended after 20.0 s of the requested 30.0 s: the scripts of all clients had ended"
    ]


def test_a_hair_too_short_is_long_enough():
    assert reasons(done(measured_ns=30 * SECOND_NS - SECOND_NS // 10)) == []


def test_a_run_of_a_count_has_no_time_to_miss():
    counted = plan_of(transactions=5)
    assert counted.stages == [Stage(duration_ns=None)]
    in_all = 5 * counted.clients
    assert reasons(done(measured_ns=1, counted=counters(in_all, 0)), counted) == []
    assert reasons(done(measured_ns=1, counted=counters(in_all - 1, 0)), counted) == [
        f"only {in_all - 1} of the requested {in_all} transactions ended: the scripts of clients "
        "had ended"
    ]


def test_what_a_lost_worker_has_not_done_is_not_blamed_on_the_scripts():
    counted = plan_of(transactions=5)
    in_all = 5 * counted.clients
    lost = part("local-2", clients=(1, 3, 5), lost_at_s=2.5, why_lost="it ended")
    few = done(measured_ns=1, counted=counters(in_all - 1, 0))
    assert reasons(few, counted, workers=[part("local-1"), lost]) == [
        f"only {in_all - 1} of the requested {in_all} transactions ended: worker local-2 and its "
        "3 clients were lost after 2.5\u202fs (it ended)"
    ]


def test_failures_up_to_the_bound():
    assert reasons(done(counted=counters(99, 1))) == []
    assert reasons(done(counted=counters(98, 2))) == [
        "2\u202f% of the transactions failed, more than the 1\u202f% allowed"
    ]
    assert reasons(done(counted=counters(98, 2)), failures_max=0.05) == []


def test_nothing_but_what_was_due_before_was_done():
    (reason,) = reasons(done(counted=structs.replace(counters(0, 0), due=70, waiting=70)))
    assert reason == (
        "no transaction that became due during the measurement completed: 70 had not started when "
        "the run ended"
    )


def test_nothing_completed():
    assert reasons(done(counted=counters(0, 0)), failures_max=1.0) == ["no transaction completed"]


def test_a_run_that_committed_nothing():
    counted = counters(30, committed=0, rolled_back=20, aborted=10)
    assert reasons(done(counted=counted)) == [
        "no transaction was committed: 20 rolled back by the script, 10 rolled back by the server"
    ]


def test_a_run_is_invalid_if_others_took_more_than_allowed():
    taken = Disturbance(
        cores=2,
        sees_server=True,
        others=0.4,
        stolen=0.0,
        taken=0.3,
        seconds=30,
        duration_s=30,
        programs={},
    )
    (reason,) = reasons(done(), disturbance=taken)
    assert reason.startswith("the host was disturbed: others took 30")
    assert "more than the 25" in reason
    assert reasons(done(), disturbance=structs.replace(taken, taken=0.25)) == []
