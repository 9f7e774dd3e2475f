"""CPU steal: the hypervisor gave the CPU to another virtual machine.

Looks for: time in which this virtual machine was ready to run and the hypervisor ran another.

Arithmetic: stolen over (busy + stolen) is how much longer CPU work took. It is weighted with the
share of client time that was CPU time or waiting for CPU (the budget); where that is not known,
with the CPU utilization.

Source: the kernel's account of steal time, /proc/stat in proc(5).

Wrong when: the hypervisor does not report steal (many do not): it is then hidden in the server's
own time, and this rule sees nothing.
"""

from dbdyno.analysis.processor_time import ProcessorTime
from dbdyno.explain.case import Case
from dbdyno.explain.processors import processor_time
from dbdyno.explain.rule import NOTICED, NotFound, Outcome, Rule, found
from dbdyno.explain.sentences import gain_text
from dbdyno.formatting import percent


def look(case: Case) -> Outcome:
    """The slowdown of CPU work, weighted by the share of such work."""
    used = processor_time(case)
    slower = used.stolen / max(used.in_use, 1e-9)
    share = slower * _processor_bound(case, used)
    if share < NOTICED:
        return NotFound(f"{percent(used.stolen)} of CPU time was stolen")
    return found(
        f"The hypervisor withheld {percent(slower)} of the CPU time that this virtual machine "
        "requested.",
        share=share,
        share_of="client time",
        certainty="likely",
        evidence={"stolen_share": used.stolen, "of_wanted": slower},
        seen=[f"Steal time: {percent(used.stolen)} of {used.cores:.0f} cores."],
        why="CPU work takes longer by that much, at times that no setting of the server explains.",
        advice=["Measure on a machine or an instance type with dedicated cores."],
        gain=gain_text(case, share),
        refute="Run at another time or on another instance: throughput must rise as steal falls.",
    )


def _processor_bound(case: Case, used: ProcessorTime) -> float:
    """The share of client time that was CPU time or waiting for CPU."""
    if case.budget is None:
        return used.in_use
    return case.budget.share("cpu") + case.budget.share("cpu_queue")


RULE = Rule(
    id="cpu_steal",
    title="CPU steal: the hypervisor withholds CPU time",
    look=look,
    covers=frozenset({"cpu_server", "own_work", "too_many_connections"}),
    accounts_for=frozenset({"cpu", "cpu_queue"}),
)
