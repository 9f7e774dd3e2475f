"""Too many connections: clients beyond what the CPU can serve only wait longer.

Looks for: a saturated CPU, clients that wait for it, and many times more clients than it takes to
keep it busy.

Arithmetic: with D seconds of the host's CPU per transaction (the server's time over the cores)
throughput is at most 1/D; a transaction that waited neither for CPU nor for a latch held by another
session, as if alone on the host, would take R₀ seconds. The knee is at N* = R₀/D clients: fewer
leave cores idle, more only queue (N = X·R). Waits for CPU are those of the server's processes, as
the kernel counts them, and of the load generator: all of a round trip beyond 0.1 ms, which is more
than it takes within one host. The latter is counted over a socket or loopback only: elsewhere the
network may take it. Shares are of the sampled time: where the CPU is short, some samples come too
late to count, and they are taken to be no different from the rest. That the kernel's counts fall
evenly on both is assumed up to 30 % not sampled; beyond that, the rule does not look. Up to four
times the knee evens out chance; the finding's share is the waiting of the clients beyond, (1 −
4·N*/N) of it.

Source: asymptotic bounds of closed systems (Denning and Buzen, Computing Surveys 10, 1978); Little,
Operations Research 9, 1961.

Wrong when: the clients think between transactions in production but not in this load: then as many
connections are idle there, and cost little.
"""

from typing import ClassVar

from dbdyno.analysis.search.bounds import clients_at_work
from dbdyno.analysis.summarize import full_record
from dbdyno.analysis.waits.budget import Budget
from dbdyno.analysis.waits.processor_time import SATURATED, ProcessorTime
from dbdyno.explain.gains import LimitClaim, gains_in
from dbdyno.explain.needs import (
    LackingError,
    client_time,
    clients_at_once,
    committed,
    grown,
    needed,
)
from dbdyno.explain.resources.network_time import network_time_of, stays_within_machine
from dbdyno.explain.resources.processors import processor_time
from dbdyno.explain.rule import NOTICED, Aside, NotFound, Rule
from dbdyno.formatting import count, milliseconds, percent, significant, tps
from dbdyno.model.counters import Processes
from dbdyno.model.run import Run

SPARE = 4
"""Multiple of the knee at which clients keep the CPU busy even if they take turns unevenly."""
NOT_SEEN_MAX = 0.3
"""Of client time: samples are late mostly when the CPU is most contended."""


class TooManyConnections(LimitClaim, frozen=True, kw_only=True):
    """How many clients there are, how many keep the CPU busy, and what the rest does."""

    clients: int
    knee_clients: float
    queued_share: float
    """Of client time: waiting for CPU."""
    response_ms: float
    involuntary_switches_per_transaction: float
    tps: Aside[float]

    @property
    def enough(self) -> str:
        """The number of clients that keep the CPU busy."""
        return count(max(round(SPARE * self.knee_clients), 1))

    @property
    def summary(self) -> str:
        return (
            f"{self.clients} clients share a CPU that about {significant(self.knee_clients)} "
            f"clients keep busy: they spend {percent(self.queued_share)} of their time waiting for "
            "it."
        )

    @property
    def seen(self) -> list[str]:
        response_s = self.response_ms / 1e3
        working = clients_at_work(self.tps, response_s * (1 - self.queued_share))
        switches = significant(self.involuntary_switches_per_transaction)
        return [
            f"N = X·R: {tps(self.tps)} TPS × {milliseconds(self.response_ms)} = "
            f"{significant(self.tps * response_s)} clients, of which {significant(working)} do not "
            "wait for CPU.",
            f"{switches} involuntary context switches per transaction.",
        ]

    why: ClassVar[str] = (
        "Beyond the knee each further client adds its own waiting to everyone's latency, and "
        "nothing to throughput."
    )

    @property
    def advice(self) -> list[str]:
        return [
            f"Use about {self.enough} connections: a pool in the application, or a pooler in front "
            "of the server, where the other clients wait.",
            "Find the knee: run with several values of -c and compare throughput and p99.",
        ]

    @property
    def gain(self) -> str:
        return self.gains.in_throughput(
            "Latency falls in proportion to the connections; throughput stays, or rises slightly "
            "with fewer context switches."
        )

    @property
    def refute(self) -> str:
        return f"Run with -c {self.enough}: throughput must stay within a few percent."


def look(run: Run) -> TooManyConnections | NotFound:
    """There can be too many clients for the CPU only if it is saturated."""
    clients = clients_at_once(run)
    spent = client_time(run)
    needed(spent.knows_cpu_queue or None, "the server's CPU time was not read")
    used = processor_time(run)
    if used.in_use < SATURATED:
        return NotFound(f"CPU utilization was {percent(used.in_use)}")
    if (not_seen := spent.not_seen / spent.total) > NOT_SEEN_MAX:
        raise LackingError(f"{percent(not_seen)} of client time was not sampled")
    return _if_crowded(run, spent, used, clients)


def _if_crowded(
    run: Run, spent: Budget, used: ProcessorTime, clients: int
) -> TooManyConnections | NotFound:
    transactions = committed(run)
    server_us = sum(
        grown(run, counter, "server") for counter in (Processes.user_us, Processes.system_us)
    )
    demand_s = server_us / 1e6 / transactions / used.cores
    seen = 1 - spent.not_seen / spent.total
    queued = (spent.share("cpu_queue") + _queued_on_the_way(run)) / seen
    not_asking = sum(spent.share(kind) for kind in ("idle", "pause", "unconnected")) / seen
    response_s = spent.total * (1 - not_asking) / transactions
    for_others = spent.share("lwlock") / seen
    unqueued_s = response_s - spent.total * (queued + for_others) / transactions
    knee = max(unqueued_s / needed(demand_s or None, "the server used no CPU time"), 1.0)
    switches = grown(run, Processes.involuntary_switches, "server") / transactions
    share = queued * max(1 - SPARE * knee / clients, 0.0)
    if share < NOTICED:
        return NotFound(f"{clients} clients where {significant(knee)} keep the CPU busy")
    throughput = full_record(run).throughput_tps
    return TooManyConnections(
        share=share,
        clients=clients,
        knee_clients=knee,
        queued_share=queued,
        response_ms=response_s * 1e3,
        involuntary_switches_per_transaction=switches,
        tps=throughput.value if throughput else 0.0,
        gains=gains_in(run),
    )


def _queued_on_the_way(run: Run) -> float:
    """On a saturated CPU wake-ups queue too; over a network the two cannot be distinguished."""
    network = network_time_of(run) if stays_within_machine(run) else None
    return network.beyond_machine if network else 0.0


RULE = Rule(
    id="too_many_connections",
    title="Too many connections for the CPU",
    look=look,
    accounts_for=frozenset({"cpu_queue", "client_or_network"}),
)
