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

from dbdyno.analysis.readings import level
from dbdyno.explain.case import Case
from dbdyno.explain.needs import needed
from dbdyno.explain.processors import SERVER_ELSEWHERE, sees_server
from dbdyno.explain.rule import NOTICED, NotFound, Outcome, Rule, found
from dbdyno.explain.sentences import amount, gain_text
from dbdyno.explain.withheld import stopped_share, throttled_shares
from dbdyno.formatting import percent
from dbdyno.model.record import Finding

_WHO = {"server": "the server", "engine": "the load generator"}


def look(case: Case) -> Outcome:
    """Report the more severe of the two mechanisms."""
    throttled = throttled_shares(case)
    worst = max(throttled, key=lambda who: throttled[who], default=None)
    is_here = sees_server(case)
    stopped = stopped_share(case) if is_here else 0.0
    if worst is not None and throttled[worst] >= max(stopped, NOTICED):
        return _by_group(case, worst, throttled[worst])
    if stopped >= NOTICED:
        return _by_signal(stopped)
    needed(is_here or None, SERVER_ELSEWHERE)
    return NotFound("no quota was exhausted and no process was sampled as stopped")


def _by_group(case: Case, who: str, share: float) -> Finding:
    limit = level(case.recording, "control_group", "limit_cores", who)
    cores = float(limit.value[-1]) if limit is not None else None
    quota = f" of {amount(cores, 'core', 'cores')}" if cores is not None else ""
    return found(
        f"The cgroup of {_WHO.get(who, who)} exhausted its CPU quota{quota} and was throttled for "
        f"{percent(share)} of the time.",
        share=share,
        share_of="client time",
        certainty="sure",
        evidence={"who": who, "throttled_share": share, "limit_cores": cores},
        seen=[f"The kernel throttled the cgroup for {percent(share)} of the run."],
        why="A transaction that hits the quota waits for the next period: tens of milliseconds, "
        "even on an idle host.",
        advice=["Raise or remove the quota (docker --cpus, cpu.max, a pod's limits.cpu)."],
        gain=gain_text(case, share),
        refute="Double the quota: throughput must rise and the throttled periods fall.",
    )


def _by_signal(share: float) -> Finding:
    return found(
        f"The server's processes were stopped in {percent(share)} of the samples.",
        title="Server processes stopped by signals",
        share=share,
        share_of="client time",
        certainty="likely",
        evidence={"stopped_share": share},
        seen=[f"In state T (stopped by a signal) for {percent(share)} of the time."],
        why="A stopped process answers no client and keeps its locks.",
        advice=["Find what sends SIGSTOP: a debugger, a freezer, a limiter such as cpulimit."],
        refute="Check the states of the server's processes (ps): none may be T.",
    )


RULE = Rule(
    id="cpu_throttled",
    title="CPU throttling: a cgroup quota is exhausted",
    look=look,
    covers=frozenset(
        {"cpu_server", "cpu_others", "cpu_generator", "own_work", "round_trips"}
        | {"too_many_connections"}
    ),
    accounts_for=frozenset({"cpu", "cpu_queue", "client_or_network", "not_seen"}),
)
