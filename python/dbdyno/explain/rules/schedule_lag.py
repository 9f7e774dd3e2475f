"""Schedule lag: transactions are due, and no client is free to begin them.

Looks for: an open loop (``--rate``) whose clients are busy nearly all of their time, and response
times a good part of which had passed before the transaction was sent.

Arithmetic: N clients whose transactions take S seconds from sent to done begin N/S a second at
most, and are busy for X·S/N of their time. The lag is the response time less the service time
(done − due less done − sent), as the engine measured both. Where more became due than was done, the
queue grows to the end of the run, and so does the lag.

Source: Little, Operations Research 9, 1961; Kleinrock, Queueing Systems I, 1975, §2.1.

Wrong when: arrivals come in bursts that the real system would not see: then the rate is carried on
average, and the lag is that of the bursts.
"""

from msgspec import Struct

from dbdyno.analysis.arrivals import Arrivals, arrivals
from dbdyno.explain.case import Case
from dbdyno.explain.needs import needed, throughput_tps
from dbdyno.explain.rule import NOTICED, NotFound, Outcome, Rule, found
from dbdyno.model.record import Finding
from dbdyno.words import count, milliseconds, percent, tps

BUSY = 0.7
"""Clients that are free for longer let hardly anything wait: below it a lag is a late timer's."""


_BELOW = 0.8
_WHY = (
    "Who asks at a rate of their own does not wait until a connection is free: the queue before "
    "the server is part of what they wait."
)
_ADVICE = [
    "If the server has processors to spare: more clients (-c). If not, this is its capacity, and "
    "the other findings say what takes it.",
    "Find the highest rate that keeps an objective: dbdyno search --slo 'p99<10ms'.",
]


class _Queue(Struct, frozen=True, kw_only=True):
    """The clients, and what waits for one; times are of what became due and was done."""

    clients: int
    service_ms: float
    response_ms: float
    tps: float

    @property
    def busy(self) -> float:
        """How much of the clients' time a transaction was under way."""
        return min(self.tps * self.service_ms / 1e3 / self.clients, 1.0)

    @property
    def lag_ms(self) -> float:
        """How long a transaction was due before it was sent."""
        return self.response_ms - self.service_ms

    @property
    def share(self) -> float:
        """Of the response time: the lag."""
        return self.lag_ms / self.response_ms


def look(case: Case) -> Outcome:
    """A queue that grows first: then nothing else about response times means anything."""
    if "open" not in case.recording.plan.get("arrivals", {}):
        return NotFound("a closed loop: what is due is sent at once")
    came = arrivals(case.recording, needed(case.record.duration_s or None, "nothing was measured"))
    if came.overran:
        return _overrun(came, throughput_tps(case))
    queue = _queue(case)
    if queue.busy < BUSY or queue.share < NOTICED:
        return NotFound(f"its clients were busy for {percent(queue.busy)} of their time")
    return _waited(queue)


def _queue(case: Case) -> _Queue:
    record, reason = case.record, "no transaction that became due while measuring was done"
    return _Queue(
        clients=case.recording.plan["clients"],
        service_ms=needed(record.service_ms, reason).mean,
        response_ms=needed(record.response_ms, reason).mean,
        tps=throughput_tps(case),
    )


def _overrun(came: Arrivals, done_tps: float) -> Finding:
    return found(
        f"{tps(came.due_per_s)} transactions a second became due and {tps(done_tps)} were done: "
        f"{count(came.waiting)} had not begun at the end, and response times are as long as the "
        "run.",
        title="The rate is more than was done",
        severity="critical",
        certainty="sure",
        evidence={
            "due_per_s": came.due_per_s,
            "throughput_tps": done_tps,
            "waiting_at_end": came.waiting,
        },
        why=_WHY,
        advice=_ADVICE,
        gain="Below capacity the queue comes and goes, and response times have a meaning.",
        refute=f"Run at {tps(done_tps * _BELOW)} a second: nothing must wait at the end.",
    )


def _waited(queue: _Queue) -> Finding:
    most_tps = queue.clients / queue.service_ms * 1e3
    return found(
        f"Transactions were due for {milliseconds(queue.lag_ms)} before a client was free to begin "
        f"them, {percent(queue.share)} of their response time.",
        share=queue.share,
        share_of="response time",
        certainty="sure",
        evidence={
            "busy_share": queue.busy,
            "lag_ms": queue.lag_ms,
            "service_ms": queue.service_ms,
        },
        seen=[
            f"From due to done {milliseconds(queue.response_ms)}, from sent to done "
            f"{milliseconds(queue.service_ms)}.",
            f"{count(queue.clients)} clients were busy for {percent(queue.busy)} of their time: at "
            f"{milliseconds(queue.service_ms)} each they do {tps(most_tps)} TPS at most.",
        ],
        why=_WHY,
        advice=_ADVICE,
        refute="Run with twice the clients: where they were too few, the lag must vanish.",
    )


RULE = Rule(id="schedule_lag", title="Arrivals wait for a free client", look=look)
