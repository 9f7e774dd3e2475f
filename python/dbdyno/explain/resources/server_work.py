"""What the server's CPU time for the load was spent on, by its profile: shares for rules.

A part p of the CPU time of the backends that serve the load takes p of the time in which clients
were on a CPU. Where clients waited for a CPU, what any process used of the CPU kept them waiting in
proportion: a part that took q of the CPU time in use accounts for q of that waiting.
"""

from collections.abc import Callable
from typing import TypeAlias

from dbdyno.analysis.processor.profile import Part, cost_us, server_profile
from dbdyno.explain.gains import LimitClaim, gains_in
from dbdyno.explain.needs import because, client_time, needed
from dbdyno.explain.resources.processors import processor_time
from dbdyno.explain.rule import NOTICED, Aside, NotFound
from dbdyno.formatting import milliseconds, percent
from dbdyno.model.counters import PROFILE
from dbdyno.model.database import Subsystem
from dbdyno.model.record import ProcessorPart
from dbdyno.model.run import Run

_FUNCTIONS_SHOWN = 3
OF_LOAD = "client"
"""The class of the processes or threads that serve the load's sessions."""


class WorkClaim(LimitClaim, frozen=True, kw_only=True):
    """A part of the server's CPU time that could be saved."""

    cpu_share: float
    """Of the CPU time of the processes or threads that serve the load."""
    cpu_us: float
    """Per transaction."""
    what: Aside[str]
    """What took it, as the beginning of a sentence."""
    functions: Aside[list[str]]
    """Those that took most of it."""

    @property
    def summary(self) -> str:
        """Cause first, number second."""
        return (
            f"{self.what} took {percent(self.cpu_share)} of the CPU time that the server used for "
            f"this load: {milliseconds(self.cpu_us / 1e3)} per transaction."
        )

    @property
    def seen(self) -> list[str]:
        """The functions."""
        return [f"Most of it in {', '.join(self.functions)}."] if self.functions else []


IsMeant: TypeAlias = Callable[[Part | ProcessorPart], bool]


def work_on(*subsystems: Subsystem) -> IsMeant:
    """Whether a part is of one of these subsystems."""
    return lambda part: part.subsystem in subsystems


def share_of_work(run: Run, is_meant: IsMeant) -> tuple[float, float]:
    """Of the CPU time for this load, what such parts took; and their microseconds a transaction."""
    unknown = because(run, "the server's CPU time was not profiled (--profile)", PROFILE)
    needed(server_profile(run), unknown)
    whole_us = cost_us(run, lambda part: part.processes == OF_LOAD)
    us = cost_us(run, lambda part: part.processes == OF_LOAD and is_meant(part))
    return us / needed(whole_us or None, "the profile shows no process at work for this load"), us


def share_of_clients(run: Run, of_work: float, of_all: float) -> float:
    """The share of client time of what took these shares of the load's CPU time, and of all."""
    spent = client_time(run)
    return spent.share("cpu") * of_work + spent.share("cpu_queue") * of_all


def claim_of(
    run: Run,
    kind: type[WorkClaim],
    what: str,
    is_meant: IsMeant,
    ordinary: float = 0.0,
) -> WorkClaim | NotFound:
    """The claim about such parts, if they took more than what is ordinary of such a load."""
    of_work, us = share_of_work(run, is_meant)
    if of_work < max(NOTICED, ordinary):
        return NotFound(f"{what[0].lower()}{what[1:]} took {percent(of_work)} of its CPU time")
    used = processor_time(run)
    of_all = of_work * used.server / max(used.in_use, 1e-9)
    return kind(
        share=share_of_clients(run, of_work, of_all),
        cpu_share=of_work,
        cpu_us=us,
        what=what,
        functions=[
            f"{part.function} ({percent(part.share)})"
            for part in needed(server_profile(run), "").functions
            if part.processes == OF_LOAD and is_meant(part)
        ][:_FUNCTIONS_SHOWN],
        gains=gains_in(run),
    )
