"""What the server's CPU time for the load was spent on, by its profile: shares for rules.

A part p of the CPU time of the backends that serve the load takes p of the time in which clients
were on a CPU. Where clients waited for a CPU, what any process used of the CPU kept them waiting in
proportion: a part that took q of the CPU time in use accounts for q of that waiting.

A profile shows the function that ran, not its callers. Memory, page faults, hash tables, lookups in
the catalog and the C library serve whoever calls: what calls them is taken to need them in
proportion to the CPU time of its own functions (the overhead of a department, by its direct costs).
"""

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, TypeAlias

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
SERVING: frozenset[str] = frozenset(
    {
        *("memory", "kernel_memory", "library", "hash_tables", "catalog", "values", "other"),
        *("statistics", "clocks", "internal_locks", "kernel_other", "kernel_interrupts"),
    }
)
"""Subsystems that work for others, which call them."""
AROUND_STATEMENTS: tuple[Subsystem, ...] = (
    *("protocol", "kernel_network", "kernel_scheduling", "connecting", "tls", "transactions"),
)
"""What a transaction needs whatever its statements do with rows."""


class WorkClaim(LimitClaim, frozen=True, kw_only=True):
    """A part of the server's CPU time that could be saved."""

    cpu_share: float
    """Of the CPU time of the processes or threads that serve the load."""
    own_share: float
    """Of the same, what its own functions took, without what they called."""
    most_share: float
    """Of the same, what it took at most: with all that its functions may have called."""
    cpu_us: float
    """Per transaction."""
    what: ClassVar[str]
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
        """The functions, and what is counted beside them."""
        named = [f"Most of it in {', '.join(self.functions)}."] if self.functions else []
        is_more = self.cpu_share - self.own_share >= NOTICED
        return [*named, self.counted_too] if is_more else named

    @property
    def counted_too(self) -> str:
        """What is in it beside its own functions."""
        return (
            f"Its own functions took {percent(self.own_share)}; the rest is their part of what "
            "serves all: memory, page faults, lookups in the catalog, the C library. With all of "
            f"that it is {percent(self.most_share)}."
        )


IsMeant: TypeAlias = Callable[[Part | ProcessorPart], bool]


def work_on(*subsystems: Subsystem) -> IsMeant:
    """Whether a part is of one of these subsystems."""
    return lambda part: part.subsystem in subsystems


def load_us(run: Run, is_meant: IsMeant = lambda _: True) -> float:
    """CPU microseconds per transaction of such parts, in the backends that serve the load."""
    unknown = because(run, "the server's CPU time was not profiled (--profile)", PROFILE)
    needed(server_profile(run), unknown)
    return cost_us(run, lambda part: part.processes == OF_LOAD and is_meant(part))


def share_of_work(run: Run, is_meant: IsMeant) -> float:
    """Of the CPU time for this load, what such parts took."""
    whole_us = load_us(run)
    us = load_us(run, is_meant)
    return us / needed(whole_us or None, "the profile shows no process at work for this load")


class Served(NamedTuple):
    """Shares of the CPU time for this load: of parts with what serves them."""

    whole: float
    """With their part of the services, by their part of all that is served."""
    most: float
    """With all of the services."""


def with_services(run: Run, is_meant: IsMeant) -> Served:
    """What such parts took, and what they had done for them."""
    own = share_of_work(run, is_meant)
    callers = share_of_work(run, lambda part: _calls(part) and is_meant(part))
    all_callers = share_of_work(run, _calls)
    services = share_of_work(run, lambda part: part.subsystem in SERVING and not is_meant(part))
    return Served(own + services * callers / max(all_callers, 1e-9), own + services)


def _calls(part: Part | ProcessorPart) -> bool:
    return not part.subsystem.startswith("kernel_") and part.subsystem not in SERVING


def share_of_clients(run: Run, of_work: float, of_all: float) -> float:
    """The share of client time of what took these shares of the load's CPU time, and of all."""
    spent = client_time(run)
    return spent.share("cpu") * of_work + spent.share("cpu_queue") * of_all


def claim_of(
    run: Run,
    kind: type[WorkClaim],
    is_meant: IsMeant,
    ordinary: float = 0.0,
    served: Served | None = None,
    **more: Any,
) -> WorkClaim | NotFound:
    """The claim about such parts, if they took more than what is ordinary of such a load.

    With ``served``, what would go away with them is more than their own. ``more`` are the numbers
    that only this kind of claim has.
    """
    own = share_of_work(run, is_meant)
    whole, most = served or (own, own)
    of_work = min(max(own, whole), 1.0)
    if of_work < max(NOTICED, ordinary):
        what = f"{kind.what[0].lower()}{kind.what[1:]}"
        return NotFound(f"{what} took {percent(of_work)} of its CPU time")
    used = processor_time(run)
    of_all = of_work * used.server / max(used.in_use, 1e-9)
    return kind(
        share=share_of_clients(run, of_work, of_all),
        cpu_share=of_work,
        own_share=own,
        most_share=min(max(of_work, most), 1.0),
        cpu_us=of_work * load_us(run),
        functions=[
            f"{part.function} ({percent(part.share)})"
            for part in needed(server_profile(run), "").functions
            if part.processes == OF_LOAD and is_meant(part)
        ][:_FUNCTIONS_SHOWN],
        gains=gains_in(run),
        **more,
    )
