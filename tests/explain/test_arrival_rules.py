"""Open-loop arrivals with which the clients, or the server, cannot keep up."""

import dataclasses

import numpy as np
import pytest
from inline_snapshot import snapshot
from msgspec import structs

from dbdyno.analysis.summarize import full_record
from dbdyno.explain.rule import CouldNotLook, NotFound
from dbdyno.model.record import Latency
from tests.explain.rule_outcomes import outcome_of, text_of
from tests.support.recordings import MadeRun


def timed(run, *, response_ms, service_ms=None):
    """The run's recording with this mean response time, and service time if it is known."""
    recording = run.loaded()
    record = structs.replace(
        full_record(recording),
        response_ms=mean(response_ms),
        service_ms=mean(service_ms or response_ms),
    )
    return dataclasses.replace(recording, record=record)


def mean(value_ms):
    names = (name for name in Latency.__struct_fields__ if name != "mean")
    return Latency(mean=value_ms, **dict.fromkeys(names, value_ms))


def test_a_rate_above_what_is_done():
    growing = np.concatenate([np.zeros(3), np.arange(1, 21) * 600.0])
    finding = outcome_of("schedule_lag", MadeRun(400, waiting=growing, seconds=20, is_open=True))
    assert finding.evidence == {
        "due_per_s": 1000,
        "throughput_tps": 400,
        "waiting_at_end": 12_000,
    }
    assert text_of(finding) == snapshot("""\
critical: The requested rate exceeds the capacity
1 000 transactions per second became due but 400 completed: the queue grew to 12
000, 30 s of work.
""")


def test_a_rate_without_any_completed_transaction_is_the_most_severe_case():
    growing = np.concatenate([np.zeros(3), np.arange(1, 21) * 600.0])
    finding = outcome_of("schedule_lag", MadeRun(0, waiting=growing, seconds=20, is_open=True))
    assert (finding.severity, finding.evidence["throughput_tps"]) == ("critical", 0)
    assert finding.summary.endswith("but 0 completed: the queue grew to 12\u202f000.")
    assert "the rate is not the cause" in finding.refute


def test_busy_clients_let_others_wait():
    run = MadeRun(400, waiting=12, clients=4, seconds=20, is_open=True)
    finding = outcome_of("schedule_lag", timed(run, response_ms=40))
    assert finding.evidence["waiting_mean"] == pytest.approx(12)
    assert finding.share == pytest.approx(0.75, rel=0.01)
    assert text_of(finding) == snapshot("""\
critical: Schedule lag: transactions start late
Transactions started 30 ms after they were due, 74.9 % of their response time.
On average 12 were due and not started: at 401 per second 30 ms each, of a
response time of 40 ms.
""")


def test_the_lag_is_no_more_than_what_response_times_contain():
    """At the ends of the intervals the queue was longer than between them."""
    run = MadeRun(400, waiting=60, clients=4, seconds=20, is_open=True)
    finding = outcome_of("schedule_lag", timed(run, response_ms=96, service_ms=6))
    assert finding.share == pytest.approx(90 / 96)
    assert text_of(finding) == snapshot("""\
critical: Schedule lag: transactions start late
Transactions started 90 ms after they were due, 93.8 % of their response time.
Of a response time of 96 ms, 6 ms were service time; the rest passed before the
transaction was sent.
""")


def test_a_short_queue_does_not_suggest_more_clients():
    """A server that stalls for a second or two does not need more clients."""
    levels = np.zeros(23)
    levels[13:15] = 500, 900
    finding = outcome_of(
        "schedule_lag",
        timed(MadeRun(400, waiting=levels, seconds=20, is_open=True), response_ms=180),
    )
    assert "more clients would only have waited too" in finding.advice[0]
    assert text_of(finding) == snapshot("""\
critical: Schedule lag: transactions start late
Transactions started 175 ms after they were due, 97.2 % of their response time,
but most of it at a few moments: at other times hardly any waited.
On average 70 were due and not started: at 400 per second 175 ms each, of a
response time of 180 ms.
""")


def test_one_that_waits_now_and_then_is_no_lag():
    run = MadeRun(100, waiting=0.1, clients=4, seconds=20, is_open=True)
    assert isinstance(outcome_of("schedule_lag", timed(run, response_ms=12)), NotFound)


def test_a_closed_loop_has_no_schedule():
    assert isinstance(outcome_of("schedule_lag", MadeRun(clients=4, seconds=20)), NotFound)


def test_without_times_it_could_not_look():
    run = MadeRun(400, clients=4, seconds=20, is_open=True)
    assert isinstance(outcome_of("schedule_lag", run), CouldNotLook)
