"""Schedule lag: transactions are due, and nobody has begun them.

Looks for: an open loop (``--rate``) in which more becomes due than is done; or one that is
carried, in which transactions wait for a client a good part of their response time.

Arithmetic: where more becomes due than is done the queue grows as long as the run lasts, and so do
response times. Where the rate is carried, L transactions waiting on average at λ a second have
waited W = L/λ each; its share of the mean response time is the finding's.

Source: Little, Operations Research 9, 1961; Kleinrock, Queueing Systems I, 1975, §2.1.

Where the queue was one of a few moments (its median, of the time in which the server did not stand
still, is below a third of its mean) that is said: more clients are no help then.

Wrong when: arrivals come in bursts that the real system would not see: then the rate is carried on
average, and the lag is that of the bursts.
"""

from dbdyno.analysis.arrivals import Arrivals, arrivals
from dbdyno.analysis.asked_load import is_open_loop
from dbdyno.analysis.timeline import completed
from dbdyno.explain.case import Case
from dbdyno.explain.needs import needed
from dbdyno.explain.rule import NOTICED, NotFound, Outcome, Rule, found
from dbdyno.model.record import Finding
from dbdyno.words import count, milliseconds, percent, seconds, significant, tps

SEEN_MIN = 10
"""Fewer that were seen waiting, over all ends of intervals, tell no mean."""
_BELOW = 0.8
_IN_MOMENTS = ", but most of it in a few moments: at other times hardly any waited"
_ADVICE_ON_MOMENTS = (
    "Look at the charts over time for when that was, and at the other findings for why: the rate "
    "is carried otherwise, and more clients would only have waited, too."
)
_ADVICE = [
    "If the server has processors to spare: more clients (-c). If not, this is its capacity, and "
    "the other findings say what takes it.",
    "Find the highest rate that keeps an objective: dbdyno search --slo 'p99<10ms'.",
]


def look(case: Case) -> Outcome:
    """A queue that grows first: then nothing else about response times means anything."""
    if not is_open_loop(case.recording.plan):
        return NotFound("a closed loop: what is due is sent at once")
    came = arrivals(case.recording, needed(case.record.duration_s or None, "nothing was measured"))
    if came.overran:
        return _overrun(came, completed(case.recording) / came.duration_s)
    response = needed(
        case.record.response_ms, "no transaction that became due while measuring was done"
    )
    share = came.lag_s * 1e3 / response.mean
    if share < NOTICED or came.waiting_mean * _ends(case) < SEEN_MIN:
        return NotFound(f"transactions were due for {milliseconds(came.lag_s * 1e3)} on average")
    return _waited(came, response.mean, min(share, 1.0))


def _ends(case: Case) -> int:
    return int((case.recording.tables["intervals"]["phase"] == "measure").sum())


def _overrun(came: Arrivals, done_tps: float) -> Finding:
    queue_s = f", {seconds(came.waiting / done_tps)} of work" if done_tps else ""
    return found(
        f"{tps(came.due_per_s)} transactions a second became due and {tps(done_tps)} were done: "
        f"the queue grew to {count(came.waiting)}{queue_s}.",
        title="The rate is more than was done",
        severity="critical",
        certainty="sure",
        evidence={
            "due_per_s": came.due_per_s,
            "throughput_tps": done_tps,
            "waiting_at_end": came.waiting,
        },
        why="Response times grow for as long as this goes on: they tell the length of the run.",
        advice=_ADVICE,
        gain="Below capacity the queue comes and goes, and response times have a meaning.",
        refute=f"Run at {tps(done_tps * _BELOW)} a second: the queue must not grow with time."
        if done_tps
        else "Run at a tenth of the rate: if nothing is done then either, the rate is not why.",
    )


def _waited(came: Arrivals, response_ms: float, share: float) -> Finding:
    in_moments = came.waited_for_moments
    return found(
        f"Transactions were due for {milliseconds(came.lag_s * 1e3)} before they were begun, "
        f"{percent(share)} of their response time{_IN_MOMENTS if in_moments else ''}.",
        share=share,
        share_of="response time",
        certainty="likely",
        evidence={
            "waiting_mean": came.waiting_mean,
            "lag_ms": came.lag_s * 1e3,
            "response_ms": response_ms,
        },
        seen=[
            f"On average {significant(came.waiting_mean)} were due and not begun: at "
            f"{tps(came.due_per_s)} a second {milliseconds(came.lag_s * 1e3)} each, of "
            f"{milliseconds(response_ms)} from due to done."
        ],
        why="Who asks at a rate of their own does not wait until a connection is free: the queue "
        "before the server is part of what they wait.",
        advice=[_ADVICE_ON_MOMENTS] if in_moments else _ADVICE,
        refute="Run again without what happened then: the lag must vanish."
        if in_moments
        else "Run with twice the clients: where they were too few, the lag must vanish.",
    )


RULE = Rule(id="schedule_lag", title="Arrivals wait to be begun", look=look)
