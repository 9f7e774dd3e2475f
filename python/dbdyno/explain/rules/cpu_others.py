"""Other programs use CPU time that the server needs.

Looks for: a CPU utilization of 80 % and more, part of it by programs that are neither the server
nor dbdyno, or by the server for sessions outside the load; the busiest are named.

Arithmetic: on a saturated CPU, taking the share w away from other programs speeds up the load by a
factor of up to 1 / (1 − w), as far as client time is CPU time, waiting for CPU, or the way to the
server (the load generator waits for CPU too; over a network, only as much of a round trip is
counted as it takes within one host). Other programs are what the kernel counts for the host but not
for the processes of the server, the load generator or dbdyno, nor for its own threads (kworker,
jbd2, kswapd): these mostly do the run's own I/O, and are told apart. Of the server's own CPU time,
sessions outside the load get as much as each other session that a sample shows at work or with a
request on its way, which is rather too little. Where less than half of that can be attributed to a
program, the rest are programs too short-lived to be sampled, or the kernel's own work, which the
load itself may have caused: the finding is then a hint, and minor at most, unless what can be
attributed is more severe by itself.

Source: utilization law, U = X · S (Denning and Buzen, Computing Surveys 10, 1978).

Wrong when: the other programs work for the server without being its processes (a pooler, a proxy):
then they are part of the cost of a transaction; or when other programs cause the kernel's work,
such as a backup that writes.
"""

from typing import ClassVar

from msgspec import Struct

from dbdyno.analysis.summarize import full_record
from dbdyno.analysis.waits.budget import Budget, known_budget
from dbdyno.analysis.waits.processor_time import SATURATED
from dbdyno.explain.gains import LimitClaim, gains_in
from dbdyno.explain.resources.network_time import network_time_of, stays_within_machine
from dbdyno.explain.resources.processors import (
    busiest_others,
    foreign_sessions,
    kernel_threads,
    processor_time,
)
from dbdyno.explain.rule import (
    NOTICED,
    SEVERITIES,
    Aside,
    NotFound,
    Rule,
    at_most,
    severity_of,
)
from dbdyno.formatting import percent, seconds
from dbdyno.model.database import PartKind
from dbdyno.model.record import Certainty, Severity
from dbdyno.model.run import Run

_AT_PROCESSORS: tuple[PartKind, ...] = ("cpu", "cpu_queue")
_KNOWN_MIN = 0.5
_SESSIONS = "other sessions of the server"


class Program(Struct, frozen=True):
    """A program, or sessions outside the load, and the core-seconds that it used."""

    name: str
    cpu_s: float


class CpuOthers(LimitClaim, frozen=True, kw_only=True):
    """Shares of the host's CPU time; the claim's own is of client time."""

    others_share: float
    """Programs other than the server and dbdyno, and sessions of the server outside the load."""
    server_share: float
    """For the load."""
    busiest: list[Program]
    """The busiest first."""
    in_use: Aside[float]
    kernel_share: Aside[float]
    foreign_share: Aside[float]
    """Of the others, sessions of the server."""
    named_share: Aside[float]
    """Of the others' CPU time, what belongs to those that are named."""

    @property
    def is_known(self) -> bool:
        """Whether most of it can be attributed."""
        return self.named_share >= _KNOWN_MIN

    @property
    def summary(self) -> str:
        who = f", {self.busiest[0].name} most of all" if self.is_known and self.busiest else ""
        return (
            f"Other programs used {percent(self.others_share)} of the CPU of a saturated host{who}."
        )

    @property
    def severity(self) -> Severity:
        """Of what is certainly other programs' time, and minor at most for the rest."""
        share = self.share or 0.0
        if self.is_known:
            return severity_of(share)
        certain = severity_of(share * self.named_share)
        return max(certain, at_most("minor", severity_of(share)), key=SEVERITIES.index)

    @property
    def certainty(self) -> Certainty:
        return "likely" if self.is_known else "hint"

    @property
    def seen(self) -> list[str]:
        kernel = f", {of_kernel(self.kernel_share)}" if self.kernel_share >= NOTICED else ""
        unknown = (
            "Most of it cannot be attributed: programs too short-lived to be sampled, or the "
            "kernel's own work for storage and network."
        )
        return [
            f"CPU utilization: {percent(self.in_use)}, of which server "
            f"{percent(self.server_share)}{kernel}.",
            *(f"{one.name} used {seconds(one.cpu_s)} of CPU time." for one in self.busiest),
            *([] if self.is_known else [unknown]),
        ]

    why: ClassVar[str] = (
        "The server's processes queue behind them: every statement takes longer, and none is to "
        "blame."
    )

    @property
    def advice(self) -> list[str]:
        of_programs = "Stop them while you measure, or keep them off the server's cores (taskset)."
        of_sessions = (
            "Find out what the other sessions of the server run (pg_stat_activity, SHOW "
            "PROCESSLIST), and run it at another time, or on a replica."
        )
        has_sessions = self.foreign_share >= NOTICED
        has_programs = self.others_share - self.foreign_share >= NOTICED or not has_sessions
        return [
            *([of_programs] if has_programs else []),
            *([of_sessions] if has_sessions else []),
        ]

    refute: ClassVar[str] = (
        "Run again without them: throughput must rise by about that factor; at a given rate, "
        "response times must fall."
    )


def of_kernel(share: float) -> str:
    """What is neither the server's nor another program's."""
    return f"the kernel's own threads (storage, network) {percent(share)}"


def look(run: Run) -> CpuOthers | NotFound:
    """Other programs do harm only if the CPU is saturated."""
    used = processor_time(run)
    foreign, kernel = foreign_sessions(run, used), kernel_threads(run, used)
    others = used.others - kernel + foreign
    if others < NOTICED:
        besides = f", and {of_kernel(kernel)}" if kernel >= NOTICED else ""
        return NotFound(f"other programs used {percent(others)} of the CPU{besides}")
    if used.in_use < SATURATED:
        return NotFound(f"the CPU was {percent(used.idle)} idle")
    capacity_s = used.cores * (full_record(run).duration_s or 0.0)
    busiest = _busiest(run, others * capacity_s, foreign * capacity_s)
    others_s = others * capacity_s
    return CpuOthers(
        share=min(others, _waiting_or_working(run)),
        others_share=others,
        server_share=used.server - foreign,
        busiest=busiest,
        in_use=used.in_use,
        kernel_share=kernel,
        foreign_share=foreign,
        named_share=sum(one.cpu_s for one in busiest) / others_s if others_s else 0.0,
        gains=gains_in(run),
    )


def _busiest(run: Run, others_s: float, foreign_s: float) -> list[Program]:
    """Other programs by name, and sessions outside the load, with their core-seconds."""
    least_s = NOTICED * others_s
    sessions = [Program(_SESSIONS, foreign_s)] if foreign_s > least_s else []
    named = [*sessions, *(Program(*one) for one in busiest_others(run, least_s))]
    return sorted(named, key=lambda one: one.cpu_s, reverse=True)


def _waiting_or_working(run: Run) -> float:
    """The share of client time that more CPU could shorten."""
    spent = known_budget(run)
    if spent is None:
        return 1.0
    return sum(spent.share(kind) for kind in _AT_PROCESSORS) + _on_the_way(run, spent)


def _on_the_way(run: Run, spent: Budget) -> float:
    """Round-trip time that may be waiting for CPU; over a network it is not known how much."""
    if stays_within_machine(run):
        return spent.share("client_or_network")
    network = network_time_of(run)
    return network.own - network.beyond_machine if network else 0.0


RULE = Rule(
    id="cpu_others",
    title="CPU-bound: other programs on the same cores",
    look=look,
    accounts_for=frozenset({*_AT_PROCESSORS, "client_or_network"}),
)
