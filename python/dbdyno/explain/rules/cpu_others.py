"""Other programs use CPU time that the server needs.

Looks for: a CPU utilization of 80 % and more, part of it by programs that are neither the server
nor dbdyno, or by the server for sessions outside the load; the busiest are named.

Arithmetic: on a saturated CPU, taking the share w away from other programs speeds up the load by a
factor of up to 1 / (1 − w), as far as client time is CPU time, waiting for CPU, or the way to the
server (the load generator waits for CPU too; over a network, only as much of a round trip is
counted as it takes within one host). Other programs are what the kernel counts for the host but not
for the processes of the server, the load generator or dbdyno, nor for its own threads (kworker,
jbd2, kswapd): these mostly do the run's own I/O, and are told apart. Of the server's own CPU time,
sessions outside the load get as much as each other session that a sample shows at work or with a
request on its way, which is rather too little. Where less than half of that can be attributed to a
program, the rest are programs too short-lived to be sampled, or the kernel's own work, which the
load itself may have caused: the finding is then a hint, and minor at most, unless what can be
attributed is more severe by itself.

Source: utilization law, U = X · S (Denning and Buzen, Computing Surveys 10, 1978).

Wrong when: the other programs work for the server without being its processes (a pooler, a proxy):
then they are part of the cost of a transaction; or when other programs cause the kernel's work,
such as a backup that writes.
"""

from dbdyno.analysis.budget import Budget, PartKind
from dbdyno.analysis.processor_time import SATURATED
from dbdyno.explain.case import Case
from dbdyno.explain.network_time import network_time_of, stays_within_machine
from dbdyno.explain.processors import (
    busiest_others,
    foreign_sessions,
    kernel_threads,
    processor_time,
)
from dbdyno.explain.rule import (
    NOTICED,
    SEVERITIES,
    NotFound,
    Outcome,
    Rule,
    at_most,
    found,
    severity_of,
)
from dbdyno.explain.sentences import gain_text
from dbdyno.formatting import percent, seconds
from dbdyno.model.record import Severity

_AT_PROCESSORS: tuple[PartKind, ...] = ("cpu", "cpu_queue")
_KNOWN_MIN = 0.5
_SESSIONS = "other sessions of the server"
_ADVICE = "Stop them while you measure, or keep them off the server's cores (taskset)."
_ADVICE_ON_SESSIONS = (
    "Find out what the other sessions of the server run (pg_stat_activity, SHOW PROCESSLIST), and "
    "run it at another time, or on a replica."
)
_UNKNOWN_REPORTED = (
    "Most of it cannot be attributed: programs too short-lived to be sampled, or the kernel's own "
    "work for storage and network."
)


def look(case: Case) -> Outcome:
    """Other programs do harm only if the CPU is saturated."""
    used = processor_time(case)
    foreign, kernel = foreign_sessions(case, used), kernel_threads(case, used)
    others = used.others - kernel + foreign
    of_kernel = f"the kernel's own threads (storage, network) {percent(kernel)}"
    if others < NOTICED:
        besides = f", and {of_kernel}" if kernel >= NOTICED else ""
        return NotFound(f"other programs used {percent(others)} of the CPU{besides}")
    if used.in_use < SATURATED:
        return NotFound(f"the CPU was {percent(used.idle)} idle")
    capacity_s = used.cores * (case.record.duration_s or 0.0)
    names = _busiest(case, others * capacity_s, foreign * capacity_s)
    named = _named_share(names, others * capacity_s)
    is_known = named >= _KNOWN_MIN
    share = min(others, _waiting_or_working(case))
    return found(
        f"Other programs used {percent(others)} of the CPU of a saturated host"
        f"{_who(names) if is_known else ''}.",
        share=share,
        share_of="client time",
        severity=severity_of(share) if is_known else _severity_at_least(share * named, share),
        certainty="likely" if is_known else "hint",
        evidence={
            "others_share": others,
            "server_share": used.server - foreign,
            "busiest": [{"name": name, "cpu_s": taken} for name, taken in names],
        },
        seen=[
            f"CPU utilization: {percent(used.in_use)}, of which server "
            f"{percent(used.server - foreign)}{f', {of_kernel}' if kernel >= NOTICED else ''}.",
            *(f"{name} used {seconds(taken)} of CPU time." for name, taken in names),
            *([] if is_known else [_UNKNOWN_REPORTED]),
        ],
        why="The server's processes queue behind them: every statement takes longer, and none "
        "is to blame.",
        advice=[
            *([_ADVICE] if others - foreign >= NOTICED or foreign < NOTICED else []),
            *([_ADVICE_ON_SESSIONS] if foreign >= NOTICED else []),
        ],
        gain=gain_text(case, share),
        refute="Run again without them: throughput must rise by about that factor; at a given "
        "rate, response times must fall.",
    )


def _busiest(case: Case, others_s: float, foreign_s: float) -> list[tuple[str, float]]:
    """Other programs by name, and sessions outside the load, with their core-seconds."""
    least_s = NOTICED * others_s
    sessions = [(_SESSIONS, foreign_s)] if foreign_s > least_s else []
    named = [*sessions, *busiest_others(case, least_s)]
    return sorted(named, key=lambda one: one[1], reverse=True)


def _named_share(names: list[tuple[str, float]], others_s: float) -> float:
    """The part of the others' CPU time that belongs to named programs."""
    return sum(taken for _, taken in names) / others_s if others_s else 0.0


def _severity_at_least(certain: float, share: float) -> Severity:
    """Of what is certainly other programs' time, and minor at most for the rest."""
    return max(severity_of(certain), at_most("minor", severity_of(share)), key=SEVERITIES.index)


def _waiting_or_working(case: Case) -> float:
    """The share of client time that more CPU could shorten."""
    if case.budget is None:
        return 1.0
    at_processors = sum(case.budget.share(kind) for kind in _AT_PROCESSORS)
    return at_processors + _on_the_way(case, case.budget)


def _on_the_way(case: Case, spent: Budget) -> float:
    """Round-trip time that may be waiting for CPU; over a network it is not known how much."""
    if stays_within_machine(case):
        return spent.share("client_or_network")
    network = network_time_of(case)
    return network.own - network.beyond_machine


def _who(names: list[tuple[str, float]]) -> str:
    """The busiest named program; empty if most of the time has no name."""
    return f", {names[0][0]} most of all" if names else ""


RULE = Rule(
    id="cpu_others",
    title="CPU-bound: other programs on the same cores",
    look=look,
    covers=frozenset(
        {"cpu_server", "cpu_generator", "own_work", "too_many_connections", "round_trips"}
    ),
    accounts_for=frozenset({*_AT_PROCESSORS, "client_or_network"}),
)
