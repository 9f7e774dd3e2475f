"""Schedule lag: transactions start later than they are due.

Looks for: an open loop (``--rate``) in which more transactions become due than complete; or one
that sustains its rate, but in which transactions wait for a client for a large part of their
response time.

Arithmetic: where more transactions become due than complete, the queue grows for as long as the run
lasts, and so do response times. Where the rate is sustained, the mean response time, from due, less
the mean service time, from sent, is what a transaction waited for a client; its share of the mean
response time is the finding's. In a run without service times, L transactions waiting on average at
λ per second have each waited W = L/λ.

Source: Little, Operations Research 9, 1961; Kleinrock, Queueing Systems I, 1975, §2.1.

Where the queue existed only for a few moments (its median, over the time in which the server did
not stall, is below a third of its mean) the finding states that: more clients do not help then.

Wrong when: arrivals come in bursts that the real system would not see: then the rate is sustained
on average, and the lag is that of the bursts.
"""

from typing import NamedTuple

from dbdyno.analysis.arrivals import Arrivals, arrivals
from dbdyno.analysis.planned_load import is_open_loop
from dbdyno.analysis.timeline import completed
from dbdyno.explain.case import Case
from dbdyno.explain.needs import needed
from dbdyno.explain.rule import NOTICED, NotFound, Outcome, Rule, found
from dbdyno.formatting import count, milliseconds, percent, seconds, significant, tps
from dbdyno.model.record import Finding, Latency

SEEN_MIN = 10
"""With fewer waiting transactions over all ends of intervals a mean is meaningless."""
_BELOW = 0.8
_IN_MOMENTS = ", but most of it at a few moments: at other times hardly any waited"
_ADVICE_ON_MOMENTS = (
    "Check the charts over time for when that was, and the other findings for the cause: the rate "
    "is sustained otherwise, and more clients would only have waited too."
)
_ADVICE = [
    "If the server has CPU to spare, use more clients (-c). Otherwise this is its capacity, and "
    "the other findings show what limits it.",
    "Find the highest rate that meets an objective: dbdyno search --slo 'p99<10ms'.",
]


def look(case: Case) -> Outcome:
    """A growing queue first: then nothing else about response times is meaningful."""
    if not is_open_loop(case.recording.plan):
        return NotFound("a closed loop: what is due is sent at once")
    came = arrivals(case.recording, needed(case.record.duration_s or None, "nothing was measured"))
    if came.overran:
        return _overrun(came, completed(case.recording) / came.duration_s)
    response = needed(
        case.record.response_ms, "no transaction that became due during the measurement completed"
    )
    lag = _lag(case, came, response)
    share = lag.ms / response.mean
    if share < NOTICED or came.waiting_mean * _ends(case) < SEEN_MIN:
        return NotFound(f"transactions started {milliseconds(lag.ms)} late on average")
    return _waited(came, response.mean, lag, min(share, 1.0))


class _Lag(NamedTuple):
    """Mean delay between due and start, and how it is known."""

    ms: float
    known_from: str


def _lag(case: Case, came: Arrivals, response: Latency) -> _Lag:
    """From the engine's two clocks; from the queue at the ends of intervals if there is only one.

    These ends are few in a short run, and a queue comes and goes between them.
    """
    service = case.record.service_ms
    if service is not None and service.mean < response.mean:
        return _Lag(
            response.mean - service.mean,
            f"Of a response time of {milliseconds(response.mean)}, {milliseconds(service.mean)} "
            "were service time; the rest passed before the transaction was sent.",
        )
    ms = came.lag_s * 1e3
    return _Lag(
        ms,
        f"On average {significant(came.waiting_mean)} were due and not started: at "
        f"{tps(came.due_per_s)} per second {milliseconds(ms)} each, of a response time of "
        f"{milliseconds(response.mean)}.",
    )


def _ends(case: Case) -> int:
    return int((case.recording.tables["intervals"]["phase"] == "measure").sum())


def _overrun(came: Arrivals, done_tps: float) -> Finding:
    queue_s = f", {seconds(came.waiting / done_tps)} of work" if done_tps else ""
    return found(
        f"{tps(came.due_per_s)} transactions per second became due but {tps(done_tps)} completed: "
        f"the queue grew to {count(came.waiting)}{queue_s}.",
        title="The requested rate exceeds the capacity",
        severity="critical",
        certainty="sure",
        evidence={
            "due_per_s": came.due_per_s,
            "throughput_tps": done_tps,
            "waiting_at_end": came.waiting,
        },
        why="Response times grow for as long as this lasts: they depend on the length of the run.",
        advice=_ADVICE,
        gain="Below capacity the queue does not grow, and response times are meaningful.",
        refute=f"Run at {tps(done_tps * _BELOW)} per second: the queue must not grow over time."
        if done_tps
        else "Run at a tenth of the rate: if nothing completes then either, the rate is not the "
        "cause.",
    )


def _waited(came: Arrivals, response_ms: float, lag: _Lag, share: float) -> Finding:
    in_moments = came.waited_for_moments
    return found(
        f"Transactions started {milliseconds(lag.ms)} after they were due, "
        f"{percent(share)} of their response time{_IN_MOMENTS if in_moments else ''}.",
        share=share,
        share_of="response time",
        certainty="likely",
        evidence={
            "waiting_mean": came.waiting_mean,
            "lag_ms": lag.ms,
            "response_ms": response_ms,
        },
        seen=[lag.known_from],
        why="Users who arrive at their own rate do not wait until a connection is free: the queue "
        "in front of the server is part of their response time.",
        advice=[_ADVICE_ON_MOMENTS] if in_moments else _ADVICE,
        refute="Run again without what happened then: the lag must disappear."
        if in_moments
        else "Run with twice the clients: if they were too few, the lag must disappear.",
    )


RULE = Rule(id="schedule_lag", title="Schedule lag: transactions start late", look=look)
