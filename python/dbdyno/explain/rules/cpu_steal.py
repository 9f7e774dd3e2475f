"""CPU steal: the hypervisor gave the CPU to another virtual machine.

Looks for: time in which this virtual machine was ready to run and the hypervisor ran another.

Arithmetic: stolen over (busy + stolen) is how much longer CPU work took. It is weighted with the
share of client time that was CPU time or waiting for CPU (the budget); where that is not known,
with the CPU utilization.

Source: the kernel's account of steal time, /proc/stat in proc(5).

Wrong when: the hypervisor does not report steal (many do not): it is then hidden in the server's
own time, and this rule sees nothing.
"""

from typing import ClassVar

from dbdyno.analysis.waits.budget import known_budget
from dbdyno.analysis.waits.processor_time import ProcessorTime
from dbdyno.explain.gains import LimitClaim, gains_in
from dbdyno.explain.resources.processors import processor_time
from dbdyno.explain.rule import NOTICED, Aside, NotFound, Rule
from dbdyno.formatting import percent
from dbdyno.model.run import Run


class CpuSteal(LimitClaim, frozen=True, kw_only=True):
    """CPU time that the hypervisor withheld."""

    stolen_share: float
    """Of the host's CPU time."""
    of_wanted: float
    """Of the CPU time that was used or stolen."""
    cores: Aside[float]

    @property
    def summary(self) -> str:
        return (
            f"The hypervisor withheld {percent(self.of_wanted)} of the CPU time that this virtual "
            "machine requested."
        )

    @property
    def seen(self) -> list[str]:
        return [f"Steal time: {percent(self.stolen_share)} of {self.cores:.0f} cores."]

    why: ClassVar[str] = (
        "CPU work takes longer by that much, at times that no setting of the server explains."
    )
    advice: ClassVar[list[str]] = ["Measure on a machine or an instance type with dedicated cores."]

    refute: ClassVar[str] = (
        "Run at another time or on another instance: throughput must rise as steal falls."
    )


def look(run: Run) -> CpuSteal | NotFound:
    """The slowdown of CPU work, weighted by the share of such work."""
    used = processor_time(run)
    slower = used.stolen / max(used.in_use, 1e-9)
    share = slower * _processor_bound(run, used)
    if share < NOTICED:
        return NotFound(f"{percent(used.stolen)} of CPU time was stolen")
    return CpuSteal(
        share=share,
        stolen_share=used.stolen,
        of_wanted=slower,
        cores=used.cores,
        gains=gains_in(run),
    )


def _processor_bound(run: Run, used: ProcessorTime) -> float:
    """The share of client time that was CPU time or waiting for CPU."""
    spent = known_budget(run)
    return spent.share("cpu") + spent.share("cpu_queue") if spent else used.in_use


RULE = Rule(
    id="cpu_steal",
    title="CPU steal: the hypervisor withholds CPU time",
    look=look,
    accounts_for=frozenset({"cpu", "cpu_queue"}),
)
