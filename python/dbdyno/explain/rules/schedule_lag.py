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

from typing import ClassVar

from dbdyno.analysis.series.planned_load import is_open_loop
from dbdyno.analysis.series.timeline import completed
from dbdyno.analysis.series.totals import duration_s
from dbdyno.analysis.summarize import full_record
from dbdyno.analysis.waits.arrivals import arrivals
from dbdyno.explain.needs import needed
from dbdyno.explain.rule import NOTICED, Aside, Claim, NotFound, Rule
from dbdyno.formatting import count, milliseconds, percent, seconds, significant, tps
from dbdyno.model.record import Certainty, Severity, ShareOf
from dbdyno.model.run import Run

SEEN_MIN = 10
"""With fewer waiting transactions over all ends of intervals a mean is meaningless."""
_BELOW = 0.8
_ADVICE = [
    "If the server has CPU to spare, use more clients (-c). Otherwise this is its capacity, and "
    "the other findings show what limits it.",
    "Find the highest rate that meets an objective: dbdyno search --slo 'p99<10ms'.",
]


class Overrun(Claim, frozen=True, kw_only=True):
    """More transactions became due than completed."""

    due_per_s: float
    throughput_tps: float
    waiting_at_end: float
    title: ClassVar[str] = "The requested rate exceeds the capacity"
    severity: ClassVar[Severity] = "critical"
    certainty: ClassVar[Certainty] = "sure"

    @property
    def summary(self) -> str:
        done_tps, work = self.throughput_tps, ""
        if done_tps:
            work = f", {seconds(self.waiting_at_end / done_tps)} of work"
        return (
            f"{tps(self.due_per_s)} transactions per second became due but {tps(done_tps)} "
            f"completed: the queue grew to {count(self.waiting_at_end)}{work}."
        )

    why: ClassVar[str] = (
        "Response times grow for as long as this lasts: they depend on the length of the run."
    )
    advice: ClassVar[list[str]] = _ADVICE
    gain: ClassVar[str] = (
        "Below capacity the queue does not grow, and response times are meaningful."
    )

    @property
    def refute(self) -> str:
        if self.throughput_tps:
            slower = tps(self.throughput_tps * _BELOW)
            return f"Run at {slower} per second: the queue must not grow over time."
        return (
            "Run at a tenth of the rate: if nothing completes then either, the rate is not the "
            "cause."
        )


class LateStarts(Claim, frozen=True, kw_only=True):
    """The rate is sustained, but transactions wait for a client."""

    waiting_mean: float
    """Transactions that were due and not started."""
    lag_ms: float
    """Between due and start, on average."""
    response_ms: float
    service_ms: Aside[float | None] = None
    """None if the lag is known from the queue, because the engine had one clock only."""
    due_per_s: Aside[float]
    is_in_moments: Aside[bool] = False
    """Whether the queue existed only for a few of them."""

    @property
    def share_of(self) -> ShareOf:
        return "response time"

    @property
    def summary(self) -> str:
        in_moments = ", but most of it at a few moments: at other times hardly any waited"
        return (
            f"Transactions started {milliseconds(self.lag_ms)} after they were due, "
            f"{percent(self.share or 0.0)} of their response time"
            f"{in_moments if self.is_in_moments else ''}."
        )

    @property
    def seen(self) -> list[str]:
        response = milliseconds(self.response_ms)
        if self.service_ms is not None:
            return [
                f"Of a response time of {response}, {milliseconds(self.service_ms)} were service "
                "time; the rest passed before the transaction was sent."
            ]
        return [
            f"On average {significant(self.waiting_mean)} were due and not started: at "
            f"{tps(self.due_per_s)} per second {milliseconds(self.lag_ms)} each, of a response "
            f"time of {response}."
        ]

    why: ClassVar[str] = (
        "Users who arrive at their own rate do not wait until a connection is free: the queue in "
        "front of the server is part of their response time."
    )

    @property
    def advice(self) -> list[str]:
        if self.is_in_moments:
            return [
                "Check the charts over time for when that was, and the other findings for the "
                "cause: the rate is sustained otherwise, and more clients would only have waited "
                "too."
            ]
        return _ADVICE

    @property
    def refute(self) -> str:
        if self.is_in_moments:
            return "Run again without what happened then: the lag must disappear."
        return "Run with twice the clients: if they were too few, the lag must disappear."


def look(run: Run) -> Overrun | LateStarts | NotFound:
    """A growing queue first: then nothing else about response times is meaningful."""
    if not is_open_loop(run.plan):
        return NotFound("a closed loop: what is due is sent at once")
    needed(duration_s(run) or None, "nothing was measured")
    came = arrivals(run)
    if came.overran:
        return Overrun(
            due_per_s=came.due_per_s,
            throughput_tps=completed(run) / came.duration_s,
            waiting_at_end=came.waiting,
        )
    response = needed(
        full_record(run).response_ms,
        "no transaction that became due during the measurement completed",
    )
    # The ends of intervals are few in a short run, and a queue comes and goes between them.
    service, lag_ms = full_record(run).service_ms, came.lag_s * 1e3
    service_ms = service.mean if service is not None and service.mean < response.mean else None
    if service_ms is not None:
        lag_ms = response.mean - service_ms
    share = lag_ms / response.mean
    if share < NOTICED or came.waiting_mean * _ends(run) < SEEN_MIN:
        return NotFound(f"transactions started {milliseconds(lag_ms)} late on average")
    return LateStarts(
        share=min(share, 1.0),
        waiting_mean=came.waiting_mean,
        lag_ms=lag_ms,
        response_ms=response.mean,
        service_ms=service_ms,
        due_per_s=came.due_per_s,
        is_in_moments=came.waited_for_moments,
    )


def _ends(run: Run) -> int:
    return int((run.intervals.phase == "measure").sum())


RULE = Rule(id="schedule_lag", title="Schedule lag: transactions start late", look=look)
