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

from msgspec import Struct
from msgspec.structs import asdict

from dbdyno.analysis.planned_load import is_constant_load
from dbdyno.analysis.processor_time import SATURATED, ProcessorTime
from dbdyno.explain.case import Case
from dbdyno.explain.needs import client_time, needed
from dbdyno.explain.network_time import WITHIN_A_MACHINE_S, network_time_of, stays_within_machine
from dbdyno.explain.processors import FULL, engine_fullness, processor_time
from dbdyno.explain.rule import NOTICED, NotFound, Outcome, Rule, found
from dbdyno.explain.sentences import in_throughput
from dbdyno.explain.shares import MUCH
from dbdyno.explain.withheld import is_withheld
from dbdyno.formatting import count, counted, percent, significant
from dbdyno.model.record import Finding

UNQUEUED_MIN = 0.7
"""Of client time: if more is spent in queues, more clients would mostly lengthen these."""
_WHY_FEW = (
    "A client of a closed loop starts a transaction when the one before is done: until something "
    "is saturated, only the number of clients and the time of a transaction limit throughput."
)
_WHY = "This part of the response time remains if all other waits are removed."
_CHEAPER = (
    "To make each client faster, make its transactions cheaper: fewer statements, less work in "
    "each."
)


class _Work(Struct, frozen=True, kw_only=True):
    """Shares of client time."""

    on_cpu: float
    for_a_core: float
    on_the_way: float

    @property
    def unqueued(self) -> float:
        return self.on_cpu + self.on_the_way

    @property
    def whole(self) -> float:
        return self.unqueued + self.for_a_core

    @property
    def text(self) -> str:
        return (
            f"The server at work: {percent(self.on_cpu)} of client time; waiting for a core: "
            f"{percent(self.for_a_core)}; on the way within the host: {percent(self.on_the_way)}."
        )


def look(case: Case) -> Outcome:
    """Never above a note: it is what transactions need in any case."""
    used = processor_time(case)
    if engine_fullness(case) >= FULL:
        return NotFound("the load generator is saturated")
    if used.in_use >= SATURATED:
        return _on_a_full_cpu(case, used)
    if is_withheld(case, NOTICED):
        return NotFound("CPU time was withheld from the server, however idle the host was")
    spent = client_time(case)
    work = _Work(
        on_cpu=spent.share("cpu"),
        for_a_core=spent.share("cpu_queue"),
        on_the_way=_on_the_way(case),
    )
    if is_constant_load(case.recording.plan) and work.unqueued >= UNQUEUED_MIN:
        return _few_clients(case, used, work)
    if work.whole < MUCH:
        return NotFound(f"it took {percent(work.whole)} of client time")
    return _beside_waits(work)


def _few_clients(case: Case, used: ProcessorTime, work: _Work) -> Finding:
    clients: int = case.recording.plan["clients"]
    factor = _growth(used)
    enough = count(math.ceil(clients * factor))
    return found(
        f"{counted(clients, 'client')} left the CPU {percent(used.idle)} idle: "
        f"{percent(work.unqueued)} of client time was the work of the transactions themselves, "
        "not a queue.",
        title="Not saturated: the clients wait for their own transactions",
        share=work.whole,
        share_of="client time",
        severity="note",
        certainty="likely",
        evidence={"clients": clients, "cpu_in_use": used.in_use, **asdict(work)},
        seen=[work.text],
        why=_WHY_FEW,
        advice=[f"Use more clients: about {enough} saturate the CPU.", _CHEAPER],
        gain=in_throughput(
            case,
            f"Throughput rises by a factor of about {significant(factor)}, if a transaction costs "
            "as much CPU time as now; the CPU is then saturated.",
        ),
        refute=f"Run with -c {enough}: throughput must rise, and by more than response times.",
    )


def _beside_waits(work: _Work) -> Finding:
    return found(
        f"{percent(work.whole)} of client time was the work of the transactions themselves, on a "
        "CPU that was not saturated.",
        share=work.whole,
        share_of="client time",
        severity="note",
        certainty="likely",
        evidence=asdict(work),
        seen=[work.text],
        why=_WHY,
        advice=[_CHEAPER],
        refute="Run with one client: its response time must be about this part of it.",
    )


def _on_a_full_cpu(case: Case, used: ProcessorTime) -> Outcome:
    """Only time on the way: what the server does and waits for is another rule's."""
    share = client_time(case).share("client_or_network") if stays_within_machine(case) else 0.0
    if share < MUCH:
        return NotFound(f"CPU utilization was {percent(used.in_use)}")
    return found(
        f"{percent(share)} of client time passed between client and server on a host whose CPU was "
        "saturated: the load generator was at work, or waited for a CPU.",
        title="On the way within a saturated host",
        share=share,
        share_of="client time",
        severity="note",
        certainty="likely",
        evidence={"on_the_way": share, "engine_share": used.engine},
        seen=[f"The load generator used {percent(used.engine)} of the CPU."],
        why="The server had answered, or did not know of the request yet: this is not its time.",
        advice=["Run the load from another host to measure the server alone."],
        refute="Run with fewer clients, so that a core is idle: this part must shrink.",
    )


def _growth(used: ProcessorTime) -> float:
    """By what factor the load's own use of the CPU can grow."""
    own = used.server + used.engine
    return (own + used.idle) / needed(own or None, "the server used no CPU time")


def _on_the_way(case: Case) -> float:
    """Of client time, unless round trips are longer than within a host."""
    network = network_time_of(case)
    return network.own if network.trip_s < WITHIN_A_MACHINE_S else 0.0


RULE = Rule(
    id="own_work",
    title="The transactions' own work",
    look=look,
    accounts_for=frozenset({"cpu", "cpu_queue", "client_or_network"}),
)
