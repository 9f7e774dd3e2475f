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

from typing import ClassVar

from dbdyno.analysis.summarize import full_record
from dbdyno.analysis.waits.budget import known_budget
from dbdyno.analysis.waits.processor_time import SATURATED, ProcessorTime
from dbdyno.explain.gains import LimitClaim, gains_in
from dbdyno.explain.needs import committed
from dbdyno.explain.resources.processors import foreign_sessions, kernel_threads, processor_time
from dbdyno.explain.rule import NOTICED, Aside, NotFound, Rule
from dbdyno.formatting import count, milliseconds, percent
from dbdyno.model.record import Certainty, Severity
from dbdyno.model.run import Run

COUNTED_MIN = 0.001
"""Of the host's CPU time, which is counted in ticks: less is one or none in a short run."""


class CpuServer(LimitClaim, frozen=True, kw_only=True):
    """What the server used of the CPU for this load, beside what else used it."""

    server_share: float
    cores: float
    server_cpu_s: float
    """Per transaction."""
    used: Aside[ProcessorTime]
    predominates: Aside[bool]
    """Whether others used no more than the server for this load."""
    kernel_share: Aside[float] = 0.0
    severity: ClassVar[Severity] = "note"
    certainty: ClassVar[Certainty] = "sure"

    @property
    def summary(self) -> str:
        return (
            f"The server's own work kept {self.server_share * self.cores:.1f} of "
            f"{self.cores:.0f} cores busy: {milliseconds(self.server_cpu_s * 1e3)} of CPU time per "
            "transaction."
        )

    @property
    def seen(self) -> list[str]:
        shares = {
            "server": self.used.server,
            "further servers": self.used.further_servers,
            "load generator": self.used.engine,
            "telemetry and dbdyno": self.used.dbdyno,
            "other programs": self.used.others - self.kernel_share,
            "the kernel's own threads": self.kernel_share,
            "stolen by the hypervisor": self.used.stolen,
            "idle": self.used.idle,
        }
        parts = [f"{who} {percent(share)}" for who, share in shares.items() if share >= COUNTED_MIN]
        return [f"CPU time of the host: {', '.join(parts)}."]

    @property
    def why(self) -> str:
        if self.predominates:
            return (
                "A closed loop runs until some resource is saturated. Here it is the CPU, with the "
                "work itself: more clients only add waiting."
            )
        return (
            "Others used more of the saturated CPU; this is what the transactions themselves cost."
        )

    advice: ClassVar[list[str]] = [
        "Make transactions cheaper (the table of costs has their server CPU time), or give the "
        "server more cores.",
    ]

    @property
    def gain(self) -> str:
        most = count(self.cores / self.server_cpu_s)
        return self.gains.in_throughput(
            f"At most {most} TPS with all {self.cores:.0f} cores for the server."
        )

    @property
    def refute(self) -> str:
        if self.predominates:
            return "Run with half the clients: throughput must hardly fall."
        return (
            "Run again without the others: throughput must rise, and this CPU time per transaction "
            "must hardly change."
        )


def look(run: Run) -> CpuServer | NotFound:
    """Never above a note."""
    used = processor_time(run)
    if used.in_use < SATURATED:
        return NotFound(f"the CPU was {percent(used.idle)} idle")
    own = used.server - foreign_sessions(run, used)
    if own < NOTICED:
        return NotFound(f"the server used {percent(own)} of the CPU for this load")
    predominates = own >= used.in_use - own - used.engine - used.dbdyno
    duration_s = full_record(run).duration_s or 0.0
    return CpuServer(
        share=_share(run, 1.0 if predominates else own / used.in_use),
        server_share=own,
        cores=used.cores,
        server_cpu_s=own * used.cores * duration_s / committed(run),
        used=used,
        predominates=predominates,
        kernel_share=kernel_threads(run, used),
        gains=gains_in(run),
    )


def _share(run: Run, of_queue: float) -> float | None:
    """Of client time: the CPU time, and this part of the time in the run queue."""
    spent = known_budget(run)
    return spent.share("cpu") + spent.share("cpu_queue") * of_queue if spent else None


RULE = Rule(
    id="cpu_server",
    title="CPU-bound: the server's own work",
    look=look,
    accounts_for=frozenset({"cpu", "cpu_queue"}),
)
