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

from msgspec import Struct

from dbdyno.analysis.bounds import clients_at_work
from dbdyno.analysis.budget import Budget
from dbdyno.analysis.processor_time import SATURATED, ProcessorTime
from dbdyno.explain.case import Case
from dbdyno.explain.needs import (
    LackingError,
    client_time,
    clients_at_once,
    committed,
    grown,
    needed,
)
from dbdyno.explain.network_time import network_time_of, stays_within_machine
from dbdyno.explain.processors import processor_time
from dbdyno.explain.rule import NOTICED, NotFound, Outcome, Rule, found
from dbdyno.explain.sentences import in_throughput
from dbdyno.formatting import count, milliseconds, percent, significant, tps
from dbdyno.model.record import Finding

SPARE = 4
"""Multiple of the knee at which clients keep the CPU busy even if they take turns unevenly."""
NOT_SEEN_MAX = 0.3
"""Of client time: samples are late mostly when the CPU is most contended."""


class _Crowd(Struct, frozen=True, kw_only=True):
    """How many clients there are, how many keep the CPU busy, and what the rest does."""

    clients: int
    knee: float
    queued: float
    response_s: float
    tps: float
    switches: float

    @property
    def share(self) -> float:
        """Share of client time: the CPU waiting of the clients beyond."""
        return self.queued * max(1 - SPARE * self.knee / self.clients, 0.0)


def look(case: Case) -> Outcome:
    """There can be too many clients for the CPU only if it is saturated."""
    clients = clients_at_once(case)
    spent = client_time(case)
    needed(spent.knows_cpu_queue or None, "the server's CPU time was not read")
    used = processor_time(case)
    if used.in_use < SATURATED:
        return NotFound(f"CPU utilization was {percent(used.in_use)}")
    if (not_seen := spent.not_seen / spent.total) > NOT_SEEN_MAX:
        raise LackingError(f"{percent(not_seen)} of client time was not sampled")
    crowd = _crowd(case, spent, used, clients)
    if crowd.share < NOTICED:
        return NotFound(
            f"{crowd.clients} clients where {significant(crowd.knee)} keep the CPU busy"
        )
    return _finding(case, crowd)


def _crowd(case: Case, spent: Budget, used: ProcessorTime, clients: int) -> _Crowd:
    transactions = committed(case)
    server_us = sum(grown(case, "processes", name, "server") for name in ("user_us", "system_us"))
    demand_s = server_us / 1e6 / transactions / used.cores
    seen = 1 - spent.not_seen / spent.total
    queued = (spent.share("cpu_queue") + _queued_on_the_way(case)) / seen
    not_asking = sum(spent.share(kind) for kind in ("idle", "pause", "unconnected")) / seen
    response_s = spent.total * (1 - not_asking) / transactions
    for_others = spent.share("lwlock") / seen
    unqueued_s = response_s - spent.total * (queued + for_others) / transactions
    throughput = case.record.throughput_tps
    return _Crowd(
        clients=clients,
        knee=max(unqueued_s / needed(demand_s or None, "the server used no CPU time"), 1.0),
        queued=queued,
        response_s=response_s,
        tps=throughput.value if throughput else 0.0,
        switches=grown(case, "processes", "involuntary_switches", "server") / transactions,
    )


def _queued_on_the_way(case: Case) -> float:
    """On a saturated CPU wake-ups queue too; over a network the two cannot be distinguished."""
    return network_time_of(case).beyond_machine if stays_within_machine(case) else 0.0


def _finding(case: Case, crowd: _Crowd) -> Finding:
    enough = count(max(round(SPARE * crowd.knee), 1))
    working = clients_at_work(crowd.tps, crowd.response_s * (1 - crowd.queued))
    return found(
        f"{crowd.clients} clients share a CPU that about {significant(crowd.knee)} clients keep "
        f"busy: they spend {percent(crowd.queued)} of their time waiting for it.",
        share=crowd.share,
        share_of="client time",
        certainty="likely",
        evidence={
            "clients": crowd.clients,
            "knee_clients": crowd.knee,
            "queued_share": crowd.queued,
            "response_ms": crowd.response_s * 1e3,
            "involuntary_switches_per_transaction": crowd.switches,
        },
        seen=[
            f"N = X·R: {tps(crowd.tps)} TPS × {milliseconds(crowd.response_s * 1e3)} = "
            f"{significant(crowd.tps * crowd.response_s)} clients, of which {significant(working)} "
            "do not wait for CPU.",
            f"{significant(crowd.switches)} involuntary context switches per transaction.",
        ],
        why="Beyond the knee each further client adds its own waiting to everyone's latency, and "
        "nothing to throughput.",
        advice=[
            f"Use about {enough} connections: a pool in the application, or a pooler in front of "
            "the server, where the other clients wait.",
            "Find the knee: run with several values of -c and compare throughput and p99.",
        ],
        gain=in_throughput(
            case,
            "Latency falls in proportion to the connections; throughput stays, or rises slightly "
            "with fewer context switches.",
        ),
        refute=f"Run with -c {enough}: throughput must stay within a few percent.",
    )


RULE = Rule(
    id="too_many_connections",
    title="Too many connections for the CPU",
    look=look,
    covers=frozenset({"own_work"}),
    accounts_for=frozenset({"cpu_queue", "client_or_network"}),
)
