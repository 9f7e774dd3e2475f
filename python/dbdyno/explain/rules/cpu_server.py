"""The CPU is busy with the server's own work.

Looks for: a CPU utilization of 80 % and more, a substantial part of it by the server for this load.
That is how a closed loop ends when nothing else limits it, so it is never more than a note. Where
others used more, it is what the load itself costs beside them.

Arithmetic: the server's share of the CPU is the user and system time of its processes over that of
the host, without the part that session samples show at work for sessions outside the load. A
transaction that costs c core-seconds of the server allows at most cores / c transactions per
second; CPU time that other programs use lowers it. The server's own work accounts for the clients'
CPU time, and for their time in the run queue: all of it, or, where others used more of the CPU than
the server for this load, the server's part of the CPU time in use.

Source: utilization law, U = X · S (Denning and Buzen, Computing Surveys 10, 1978).

Wrong when: two hardware threads share a core. The kernel counts each as a CPU, and the second of a
pair adds far less than the first, so a host is saturated well before 100 %.
"""

from dbdyno.analysis.processor_time import SATURATED, ProcessorTime
from dbdyno.explain.case import Case
from dbdyno.explain.needs import committed
from dbdyno.explain.processors import foreign_sessions, kernel_threads, processor_time
from dbdyno.explain.rule import NOTICED, NotFound, Outcome, Rule, found
from dbdyno.explain.sentences import in_throughput
from dbdyno.formatting import count, milliseconds, percent

_COUNTED_MIN = 0.001
"""Of the host's CPU time, which is counted in ticks: less is one or none in a short run."""
_WHY = (
    "A closed loop runs until some resource is saturated. Here it is the CPU, with the work "
    "itself: more clients only add waiting."
)
_WHY_BESIDE_OTHERS = (
    "Others used more of the saturated CPU; this is what the transactions themselves cost."
)
_REFUTE = "Run with half the clients: throughput must hardly fall."
_REFUTE_BESIDE_OTHERS = (
    "Run again without the others: throughput must rise, and this CPU time per transaction must "
    "hardly change."
)


def look(case: Case) -> Outcome:
    """Never above a note."""
    used = processor_time(case)
    if used.in_use < SATURATED:
        return NotFound(f"the CPU was {percent(used.idle)} idle")
    own = used.server - foreign_sessions(case, used)
    if own < NOTICED:
        return NotFound(f"the server used {percent(own)} of the CPU for this load")
    predominates = own >= used.in_use - own - used.engine - used.dbdyno
    duration_s = case.record.duration_s or 0.0
    cpu_s = own * used.cores * duration_s / committed(case)
    return found(
        f"The server's own work kept {own * used.cores:.1f} of {used.cores:.0f} cores "
        f"busy: {milliseconds(cpu_s * 1e3)} of CPU time per transaction.",
        share=_share(case, 1.0 if predominates else own / used.in_use),
        share_of="client time",
        severity="note",
        certainty="sure",
        evidence={"server_share": own, "cores": used.cores, "server_cpu_s": cpu_s},
        seen=_seen(used, kernel_threads(case, used)),
        why=_WHY if predominates else _WHY_BESIDE_OTHERS,
        advice=[
            "Make transactions cheaper (the table of costs has their server CPU time), or give the "
            "server more cores.",
        ],
        gain=in_throughput(
            case,
            f"At most {count(used.cores / cpu_s)} TPS with all {used.cores:.0f} cores for the "
            "server.",
        ),
        refute=_REFUTE if predominates else _REFUTE_BESIDE_OTHERS,
    )


def _share(case: Case, of_queue: float) -> float | None:
    """Of client time: the CPU time, and this part of the time in the run queue."""
    if case.budget is None:
        return None
    return case.budget.share("cpu") + case.budget.share("cpu_queue") * of_queue


def _seen(used: ProcessorTime, kernel: float) -> list[str]:
    shares = {
        "server": used.server,
        "load generator": used.engine,
        "telemetry and dbdyno": used.dbdyno,
        "other programs": used.others - kernel,
        "the kernel's own threads": kernel,
        "stolen by the hypervisor": used.stolen,
        "idle": used.idle,
    }
    parts = ", ".join(
        f"{who} {percent(share)}" for who, share in shares.items() if share >= _COUNTED_MIN
    )
    return [f"CPU time of the host: {parts}."]


RULE = Rule(
    id="cpu_server",
    title="CPU-bound: the server's own work",
    look=look,
    accounts_for=frozenset({"cpu", "cpu_queue"}),
)
