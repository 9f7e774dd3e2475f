"""The processors are busy with the server's own work.

Looks for: a machine whose processors are in use for 80 % and more, most of it by the server.
That is how a closed loop ends when nothing else stops it, so it is never more than a note.

Arithmetic: the server's share of all processor time is its processes' user and system time
over the machine's. A transaction that costs c core-seconds of the server allows cores / c
transactions a second at most; processors that other programs use lower it.

Source: utilization law, U = X · S (Denning and Buzen, Computing Surveys 10, 1978).

Wrong when: two hardware threads share a core. The kernel counts each as a processor, and the
second of a pair adds far less than the first, so a machine is full well before 100 %.
"""

from dbdyno.explain.case import Case
from dbdyno.explain.needs import committed
from dbdyno.explain.processors import SATURATED, ProcessorTime, processor_time
from dbdyno.explain.rule import NotFound, Outcome, Rule, found
from dbdyno.explain.words import in_throughput
from dbdyno.words import count, milliseconds, percent

_COUNTED_MIN = 0.001
"""Of the machine's time, which is counted in ticks: in a run of seconds less is one, or none."""


def look(case: Case) -> Outcome:
    """Never above a note."""
    used = processor_time(case)
    if used.in_use < SATURATED:
        return NotFound(f"the processors were idle for {percent(used.idle)} of the time")
    if used.server < used.others + used.stolen:
        return NotFound("others used more of the processors than the server")
    duration_s = case.record.duration_s or 0.0
    cpu_s = used.server * used.cores * duration_s / committed(case)
    return found(
        f"The server kept {used.server * used.cores:.1f} of {used.cores:.0f} processors busy "
        f"with its own work, {milliseconds(cpu_s * 1e3)} a transaction.",
        share=_share(case),
        share_of="client time",
        severity="note",
        certainty="sure",
        evidence={"server_share": used.server, "cores": used.cores, "server_cpu_s": cpu_s},
        seen=_seen(used),
        why="A closed loop runs until something is full. Here that is the processors, with the "
        "work itself: more clients add waiting only.",
        advice=[
            "Make a transaction cheaper (its server CPU is in the table of costs), or give the "
            "server more processors.",
        ],
        gain=in_throughput(
            case,
            f"At most {count(used.cores / cpu_s)} TPS with all {used.cores:.0f} processors for "
            "the server.",
        ),
        refute="Run it with half the clients: throughput must hardly fall.",
    )


def _share(case: Case) -> float | None:
    if case.budget is None:
        return None
    return case.budget.share("cpu") + case.budget.share("cpu_queue")


def _seen(used: ProcessorTime) -> list[str]:
    shares = {
        "the server": used.server,
        "the load generator": used.engine,
        "telemetry and dbdyno": used.dbdyno,
        "other programs": used.others,
        "stolen by the host": used.stolen,
        "idle": used.idle,
    }
    told = ", ".join(
        f"{who} {percent(share)}" for who, share in shares.items() if share >= _COUNTED_MIN
    )
    return [f"Processor time of the machine: {told}."]


RULE = Rule(
    id="cpu_server",
    title="CPU bound: the server's own work",
    look=look,
    accounts_for=frozenset({"cpu", "cpu_queue"}),
)
