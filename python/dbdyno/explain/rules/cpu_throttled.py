"""CPU throttling: a cgroup quota, or signals, keep processes off the CPU.

Looks for: the server or the load generator in a cgroup that exhausted its quota, and server
processes that were sampled as stopped.

Arithmetic: a cgroup with a quota is accounted in periods (usually 100 ms). The share of periods in
which the quota was exhausted bounds the share of time in which its processes stood still; so does
the throttled time that the kernel reports, which it adds up over the cores. Processes that used u
of a host's n cores ran for at least u/n of the time, and stood still for at most 1 − u/n. For
signals the share is that of the samples in which a process was stopped.

Source: the kernel's documentation of CFS bandwidth control (nr_periods, nr_throttled,
throttled_time; in version 2 throttled_usec).

Wrong when: the quota belongs to an outer cgroup, which cannot be seen from inside a container.
"""

from typing import ClassVar

from dbdyno.analysis.series.readings import level
from dbdyno.explain.gains import LimitClaim, gains_in
from dbdyno.explain.needs import needed
from dbdyno.explain.resources.processors import SERVER_ELSEWHERE, sees_server
from dbdyno.explain.resources.withheld import stopped_share, throttled_shares
from dbdyno.explain.rule import NOTICED, Claim, NotFound, Rule
from dbdyno.explain.sentences import amount
from dbdyno.formatting import percent
from dbdyno.model.counters import ControlGroup
from dbdyno.model.record import Certainty
from dbdyno.model.run import Run

_WHO = {"server": "the server", "engine": "the load generator"}


class Throttled(LimitClaim, frozen=True, kw_only=True):
    """A cgroup that exhausted its CPU quota."""

    who: str
    throttled_share: float
    limit_cores: float | None
    """None if it was not read."""
    certainty: ClassVar[Certainty] = "sure"

    @property
    def summary(self) -> str:
        cores = self.limit_cores
        quota = "" if cores is None else f" of {amount(cores, 'core', 'cores')}"
        return (
            f"The cgroup of {_WHO.get(self.who, self.who)} exhausted its CPU quota{quota} and was "
            f"throttled for {percent(self.throttled_share)} of the time."
        )

    @property
    def seen(self) -> list[str]:
        return [f"The kernel throttled the cgroup for {percent(self.throttled_share)} of the run."]

    why: ClassVar[str] = (
        "A transaction that hits the quota waits for the next period: tens of milliseconds, even "
        "on an idle host."
    )
    advice: ClassVar[list[str]] = [
        "Raise or remove the quota (docker --cpus, cpu.max, a pod's limits.cpu)."
    ]

    @property
    def gain(self) -> str:
        return self.gains.text(self.throttled_share)

    refute: ClassVar[str] = "Double the quota: throughput must rise and the throttled periods fall."


class Stopped(Claim, frozen=True, kw_only=True):
    """Server processes that signals stopped."""

    stopped_share: float
    title: ClassVar[str] = "Server processes stopped by signals"

    @property
    def summary(self) -> str:
        return (
            f"The server's processes were stopped in {percent(self.stopped_share)} of the samples."
        )

    @property
    def seen(self) -> list[str]:
        return [f"In state T (stopped by a signal) for {percent(self.stopped_share)} of the time."]

    why: ClassVar[str] = "A stopped process answers no client and keeps its locks."
    advice: ClassVar[list[str]] = [
        "Find what sends SIGSTOP: a debugger, a freezer, a limiter such as cpulimit."
    ]
    refute: ClassVar[str] = "Check the states of the server's processes (ps): none may be T."


def look(run: Run) -> Throttled | Stopped | NotFound:
    """Report the more severe of the two mechanisms."""
    throttled = throttled_shares(run)
    worst = max(throttled, key=lambda who: throttled[who], default=None)
    is_here = sees_server(run)
    stopped = stopped_share(run) if is_here else 0.0
    if worst is not None and throttled[worst] >= max(stopped, NOTICED):
        limit = level(run, ControlGroup.limit_cores, worst)
        return Throttled(
            share=throttled[worst],
            who=worst,
            throttled_share=throttled[worst],
            limit_cores=float(limit.value[-1]) if limit is not None else None,
            gains=gains_in(run),
        )
    if stopped >= NOTICED:
        return Stopped(share=stopped, stopped_share=stopped)
    needed(is_here or None, SERVER_ELSEWHERE)
    return NotFound("no quota was exhausted and no process was sampled as stopped")


RULE = Rule(
    id="cpu_throttled",
    title="CPU throttling: a cgroup quota is exhausted",
    look=look,
    accounts_for=frozenset({"cpu", "cpu_queue", "client_or_network", "not_seen"}),
)
