"""On a host with idle CPU, clients wait for the work of their own transactions.

Looks for: client time without a wait for anybody else, on a host whose CPU is not saturated: the
server is at work on a CPU, waits now and then for a core that is free soon, or messages are on the
way within the host. If nearly all of the time of a closed loop is of this kind, it has too few
clients to show what the server can do. On a saturated host only the time on the way is meant here:
it is the load generator's work, and its waits for a CPU.

Arithmetic: N clients complete at most N/R₀ transactions per second, where R₀ is the response time
of a transaction that does not queue. If server and load generator use the share u of the CPU and v
is idle, about N·(u + v)/u clients saturate it, and throughput can rise by a factor of (u + v)/u, if
nothing else limits it first and a transaction costs as much CPU time as now. This is claimed only
if at least 70 % of client time is work or on the way: otherwise more clients would mostly lengthen
queues. Time on the way over a network is not counted.

Source: asymptotic bounds of closed systems (Denning and Buzen, Computing Surveys 10, 1978).

Wrong when: a resource that the clients share is saturated without being waited for by name (a
thread of the server that works alone, a lock in the kernel): then more clients gain nothing. Waking
up an idle CPU costs CPU time too, and more clients do it less often: then they gain more.
"""

import math
from typing import ClassVar

from dbdyno.analysis.series.planned_load import is_constant_load
from dbdyno.analysis.waits.processor_time import SATURATED, ProcessorTime
from dbdyno.explain.gains import LimitClaim, gains_in
from dbdyno.explain.needs import client_time, needed
from dbdyno.explain.resources.network_time import (
    WITHIN_A_MACHINE_S,
    network_time_of,
    stays_within_machine,
)
from dbdyno.explain.resources.processors import FULL, engine_fullness, processor_time
from dbdyno.explain.resources.withheld import is_withheld
from dbdyno.explain.rule import NOTICED, Aside, Claim, Evidence, NotFound, Rule
from dbdyno.explain.shares import MUCH
from dbdyno.formatting import count, counted, percent, significant
from dbdyno.model.record import Severity
from dbdyno.model.run import Run

UNQUEUED_MIN = 0.7
"""Of client time: if more is spent in queues, more clients would mostly lengthen these."""
_CHEAPER = (
    "To make each client faster, make its transactions cheaper: fewer statements, less work in "
    "each."
)


class Work(Evidence, frozen=True, kw_only=True):
    """Shares of client time."""

    on_cpu: float
    for_a_core: float
    on_the_way: float

    @property
    def unqueued(self) -> float:
        """Neither in a queue nor waiting for a core."""
        return self.on_cpu + self.on_the_way

    @property
    def whole(self) -> float:
        """All of it."""
        return self.unqueued + self.for_a_core

    @property
    def text(self) -> str:
        """What was observed."""
        return (
            f"The server at work: {percent(self.on_cpu)} of client time; waiting for a core: "
            f"{percent(self.for_a_core)}; on the way within the host: {percent(self.on_the_way)}."
        )


class FewClients(LimitClaim, frozen=True, kw_only=True):
    """A closed loop with too few clients to show what the server can do."""

    clients: int
    cpu_in_use: float
    work: Work
    cpu_idle: Aside[float]
    growth: Aside[float]
    """By what factor the load's own use of the CPU can grow."""
    title: ClassVar[str] = "Not saturated: the clients wait for their own transactions"
    severity: ClassVar[Severity] = "note"

    @property
    def enough(self) -> str:
        """The number of clients that saturate the CPU."""
        return count(math.ceil(self.clients * self.growth))

    @property
    def summary(self) -> str:
        return (
            f"{counted(self.clients, 'client')} left the CPU {percent(self.cpu_idle)} idle: "
            f"{percent(self.work.unqueued)} of client time was the work of the transactions "
            "themselves, not a queue."
        )

    @property
    def seen(self) -> list[str]:
        return [self.work.text]

    why: ClassVar[str] = (
        "A client of a closed loop starts a transaction when the one before is done: until "
        "something is saturated, only the number of clients and the time of a transaction limit "
        "throughput."
    )

    @property
    def advice(self) -> list[str]:
        return [f"Use more clients: about {self.enough} saturate the CPU.", _CHEAPER]

    @property
    def gain(self) -> str:
        return self.gains.in_throughput(
            f"Throughput rises by a factor of about {significant(self.growth)}, if a transaction "
            "costs as much CPU time as now; the CPU is then saturated."
        )

    @property
    def refute(self) -> str:
        return f"Run with -c {self.enough}: throughput must rise, and by more than response times."


class WorkBesideWaits(Claim, frozen=True, kw_only=True):
    """What transactions need in any case, beside their waits for others."""

    work: Work
    severity: ClassVar[Severity] = "note"

    @property
    def summary(self) -> str:
        return (
            f"{percent(self.work.whole)} of client time was the work of the transactions "
            "themselves, on a CPU that was not saturated."
        )

    @property
    def seen(self) -> list[str]:
        return [self.work.text]

    why: ClassVar[str] = "This part of the response time remains if all other waits are removed."
    advice: ClassVar[list[str]] = [_CHEAPER]
    refute: ClassVar[str] = "Run with one client: its response time must be about this part of it."


class OnTheWay(Claim, frozen=True, kw_only=True):
    """On a saturated host: what the server does and waits for is another rule's."""

    on_the_way: float
    engine_share: float
    title: ClassVar[str] = "On the way within a saturated host"
    severity: ClassVar[Severity] = "note"

    @property
    def summary(self) -> str:
        return (
            f"{percent(self.on_the_way)} of client time passed between client and server on a host "
            "whose CPU was saturated: the load generator was at work, or waited for a CPU."
        )

    @property
    def seen(self) -> list[str]:
        return [f"The load generator used {percent(self.engine_share)} of the CPU."]

    why: ClassVar[str] = (
        "The server had answered, or did not know of the request yet: this is not its time."
    )
    advice: ClassVar[list[str]] = ["Run the load from another host to measure the server alone."]
    refute: ClassVar[str] = "Run with fewer clients, so that a core is idle: this part must shrink."


def look(run: Run) -> FewClients | WorkBesideWaits | OnTheWay | NotFound:
    """Never above a note: it is what transactions need in any case."""
    used = processor_time(run)
    if engine_fullness(run) >= FULL:
        return NotFound("the load generator is saturated")
    if used.in_use >= SATURATED:
        return _on_a_full_cpu(run, used)
    if is_withheld(run, NOTICED):
        return NotFound("CPU time was withheld from the server, however idle the host was")
    spent = client_time(run)
    work = Work(
        on_cpu=spent.share("cpu"),
        for_a_core=spent.share("cpu_queue"),
        on_the_way=_on_the_way(run),
    )
    if is_constant_load(run.plan) and work.unqueued >= UNQUEUED_MIN:
        return FewClients(
            share=work.whole,
            clients=run.plan.clients,
            cpu_in_use=used.in_use,
            work=work,
            cpu_idle=used.idle,
            growth=_growth(used),
            gains=gains_in(run),
        )
    if work.whole < MUCH:
        return NotFound(f"it took {percent(work.whole)} of client time")
    return WorkBesideWaits(share=work.whole, work=work)


def _on_a_full_cpu(run: Run, used: ProcessorTime) -> OnTheWay | NotFound:
    share = client_time(run).share("client_or_network") if stays_within_machine(run) else 0.0
    if share < MUCH:
        return NotFound(f"CPU utilization was {percent(used.in_use)}")
    return OnTheWay(share=share, on_the_way=share, engine_share=used.engine)


def _growth(used: ProcessorTime) -> float:
    """By what factor the load's own use of the CPU can grow."""
    own = used.server + used.engine
    return (own + used.idle) / needed(own or None, "the server used no CPU time")


def _on_the_way(run: Run) -> float:
    """Of client time, unless round trips are longer than within a host."""
    network = network_time_of(run)
    return network.own if network and network.trip_s < WITHIN_A_MACHINE_S else 0.0


RULE = Rule(
    id="own_work",
    title="The transactions' own work",
    look=look,
    accounts_for=frozenset({"cpu", "cpu_queue", "client_or_network"}),
)
