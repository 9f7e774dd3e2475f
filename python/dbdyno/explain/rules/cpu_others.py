"""Other programs use the processors that the server needs.

Looks for: processors in use for 80 % and more while programs that are neither the server nor
ours take a part of them; the busiest are named.

Arithmetic: with the processors full, taking the share w away from others gives the work a
factor of up to 1 / (1 − w), as far as the clients' time went into processors, the line for
them, or the way to the server (the load generator waits for processors, too; over a network,
only what a way takes within a machine is counted). Others are what the kernel counts for the
machine and for none of the server's, the load generator's or dbdyno's own processes. Where less
than half of that can be named, the rest are programs too short-lived to be seen, or the kernel's
own work, which the load itself may have caused: the finding is then a hint and minor at most.

Source: utilization law, U = X · S (Denning and Buzen, Computing Surveys 10, 1978).

Wrong when: the others work for the server without being its processes (a pooler, a proxy, the
kernel's threads for storage and network): then they are part of what a transaction costs.
"""

from dbdyno.analysis.budget import Budget, PartKind
from dbdyno.explain.case import Case
from dbdyno.explain.processors import SATURATED, ProcessorTime, busiest_others, processor_time
from dbdyno.explain.rule import NOTICED, NotFound, Outcome, Rule, at_most, found, severity_of
from dbdyno.explain.way import stays_within_machine, way_of
from dbdyno.explain.words import gain_words
from dbdyno.words import percent, seconds

_AT_PROCESSORS: tuple[PartKind, ...] = ("cpu", "cpu_queue")
_KNOWN_MIN = 0.5
_UNKNOWN_TOLD = (
    "Most of it has no name: programs too short-lived to be seen, or the kernel's own work for "
    "storage and network."
)


def look(case: Case) -> Outcome:
    """Only where processors are scarce do others do harm."""
    used = processor_time(case)
    if used.others < NOTICED:
        return NotFound(f"other programs took {percent(used.others)} of the processors")
    if used.in_use < SATURATED:
        return NotFound(f"the processors were idle for {percent(used.idle)} of the time")
    names = busiest_others(case)
    is_known = _named_share(case, names, used) >= _KNOWN_MIN
    share = min(used.others, _waiting_or_working(case))
    return found(
        f"Other programs took {percent(used.others)} of processors that are all in use"
        f"{_who(names) if is_known else ''}.",
        share=share,
        share_of="client time",
        severity=severity_of(share) if is_known else at_most("minor", severity_of(share)),
        certainty="likely" if is_known else "hint",
        evidence={
            "others_share": used.others,
            "server_share": used.server,
            "busiest": [{"name": name, "cpu_s": taken} for name, taken in names],
        },
        seen=[
            f"Processors in use: {percent(used.in_use)}, by the server {percent(used.server)}.",
            *(f"{name} took {seconds(taken)} of processor time." for name, taken in names),
            *([] if is_known else [_UNKNOWN_TOLD]),
        ],
        why="The server's processes queue behind them: every statement takes longer, and none "
        "is to blame.",
        advice=["Stop them while you measure, or keep them off the server's processors (taskset)."],
        gain=gain_words(case, share),
        refute="Run again without them: throughput must rise by about that factor, "
        "at a given rate response times must fall.",
    )


def _named_share(case: Case, names: list[tuple[str, float]], used: ProcessorTime) -> float:
    """The part of the others' time that was taken by programs with a name."""
    others_s = used.others * used.cores * (case.record.duration_s or 0.0)
    return sum(taken for _, taken in names) / others_s if others_s else 0.0


def _waiting_or_working(case: Case) -> float:
    """The share of the clients' time that more of the processors could shorten."""
    if case.budget is None:
        return 1.0
    at_processors = sum(case.budget.share(kind) for kind in _AT_PROCESSORS)
    return at_processors + _on_the_way(case, case.budget)


def _on_the_way(case: Case, spent: Budget) -> float:
    """Over a network, nobody knows how much of a long way is waiting for a processor."""
    if stays_within_machine(case):
        return spent.share("client_or_network")
    way = way_of(case)
    return way.own - way.beyond_machine


def _who(names: list[tuple[str, float]]) -> str:
    """Of what has a name; where most has none, nobody knows who took the most."""
    return f", {names[0][0]} the most" if names else ""


RULE = Rule(
    id="cpu_others",
    title="CPU bound: other programs on the same processors",
    look=look,
    covers=frozenset({"cpu_server", "cpu_generator", "too_many_connections", "round_trips"}),
    accounts_for=frozenset({*_AT_PROCESSORS, "client_or_network"}),
)
