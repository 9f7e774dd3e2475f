"""The clients leave the CPU idle, and wait for the work of their own transactions only.

Looks for: a closed loop on a host with idle CPU, whose clients spend at least 70 % of their time
without a queue: the server is at work for them on a CPU, or their messages are on the way within
the host.

Arithmetic: N clients complete at most N/R₀ transactions per second, where R₀ is the response time
of a transaction that does not queue. If server and load generator use the share u of the CPU and v
is idle, about N·(u + v)/u clients saturate it, and throughput can rise by a factor of (u + v)/u, if
nothing else limits it first and a transaction costs as much CPU time as now. Time on the way over a
network is not counted.

Source: asymptotic bounds of closed systems (Denning and Buzen, Computing Surveys 10, 1978).

Wrong when: a resource that the clients share is saturated without being waited for by name (a
thread of the server that works alone, a lock in the kernel): then more clients gain nothing. Waking
up an idle CPU costs CPU time too, and more clients do it less often: then they gain more.
"""

import math

from dbdyno.analysis.planned_load import is_constant_load
from dbdyno.explain.case import Case
from dbdyno.explain.needs import client_time, needed
from dbdyno.explain.network_time import WITHIN_A_MACHINE_S, network_time_of
from dbdyno.explain.processors import SATURATED, ProcessorTime, processor_time
from dbdyno.explain.rule import NotFound, Outcome, Rule, found
from dbdyno.explain.sentences import in_throughput
from dbdyno.formatting import count, counted, percent, significant

OWN_MIN = 0.7
"""Of client time: if more is spent in queues, more clients would mostly lengthen these."""
_WHY = (
    "A client of a closed loop starts a transaction when the one before is done: until something "
    "is saturated, only the number of clients and the time of a transaction limit throughput."
)


def look(case: Case) -> Outcome:
    """Never above a note: a load of few clients is a choice."""
    if not is_constant_load(case.recording.plan):
        return NotFound("the load is not a constant number of clients")
    used = processor_time(case)
    if used.in_use >= SATURATED:
        return NotFound(f"CPU utilization was {percent(used.in_use)}")
    at_work, on_the_way = client_time(case).share("cpu"), _on_the_way(case)
    own = at_work + on_the_way
    if own < OWN_MIN:
        return NotFound(f"the transactions' own work took {percent(own)} of client time")
    clients: int = case.recording.plan["clients"]
    factor = _growth(used)
    enough = count(math.ceil(clients * factor))
    return found(
        f"{counted(clients, 'client')} left the CPU {percent(used.idle)} idle: {percent(own)} of "
        "client time was the work of the transactions themselves, not a queue.",
        share=own,
        share_of="client time",
        severity="note",
        certainty="likely",
        evidence={
            "clients": clients,
            "cpu_in_use": used.in_use,
            "at_work_share": at_work,
            "on_the_way_share": on_the_way,
        },
        seen=[
            f"The server at work for them: {percent(at_work)}; on the way within the host: "
            f"{percent(on_the_way)}."
        ],
        why=_WHY,
        advice=[
            f"Use more clients: about {enough} saturate the CPU.",
            "To make each client faster, make its transactions cheaper: fewer statements, less "
            "work in each.",
        ],
        gain=in_throughput(
            case,
            f"Throughput rises by a factor of about {significant(factor)}, if a transaction costs "
            "as much CPU time as now; the CPU is then saturated.",
        ),
        refute=f"Run with -c {enough}: throughput must rise, and by more than response times.",
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
    id="few_clients",
    title="Not saturated: the clients wait for their own transactions",
    look=look,
    accounts_for=frozenset({"cpu", "client_or_network"}),
)
