"""Tools drive the same load in turns, on one server and equal data."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bench.cases import Bound, Case, Entrant
from bench.data import Data
from bench.ratio import Ratio, ratio_of_pairs
from bench.server import BenchServer
from bench.tally import Tally
from bench.tool import Outcome
from bench.turns import Entry, Turns, take_turns
from dbdyno.errors import DbdynoError
from dbdyno.model.plan import Endpoint

CONNECTIONS_PER_S = 200
"""Fewer than every tool and server make."""
START_S = 1.0


RUN_S = 60.0
"""What a command costs once, at its start and end, is spread over a run of this length: a short
run, but longer than a round."""


@dataclass(frozen=True)
class Sample:
    """One run of one tool: the whole process tree, measured from outside."""

    tps: float
    cpu_us_in_load: float
    """Of a transaction, while the load lasts."""
    cpu_s_once: float
    """Of the command, whatever its load."""
    failed_share: float

    @classmethod
    def of(cls, outcome: Outcome, turns: Turns) -> "Sample":
        """The tool's own counts; its stops and its CPU time were measured from outside."""
        finished = turns.finished
        tps = outcome.transactions / (outcome.load_s - finished.stopped_s)
        in_load_s = turns.cpu_s / (tps * turns.running_s)
        return cls(
            tps,
            in_load_s * 1e6,
            finished.cpu_s - in_load_s * outcome.transactions,
            outcome.failed / (outcome.transactions + outcome.failed),
        )

    @property
    def cpu_us_per_transaction(self) -> float:
        """Of a run of a minute, everything included."""
        return self.cpu_us_in_load + self.cpu_s_once * 1e6 / (self.tps * RUN_S)

    def __str__(self) -> str:
        """As it is printed, failures only if there were any."""
        cpu = f"{self.cpu_us_in_load:.2f} µs + {self.cpu_s_once:.2f} s"
        failed = f" {self.failed_share:.2%} failed" if self.failed_share else ""
        return f"{self.tps:,.0f} TPS {cpu}{failed}"


@dataclass(frozen=True)
class Ratios:
    """One entrant's values relative to another's."""

    tps: Ratio
    cpu: Ratio

    @classmethod
    def of(cls, own: Sequence[Sample], others: Sequence[Sample]) -> "Ratios":
        """From one run of each in every round."""
        return cls(
            ratio_of_pairs([sample.tps for sample in own], [sample.tps for sample in others]),
            ratio_of_pairs(
                [sample.cpu_us_per_transaction for sample in own],
                [sample.cpu_us_per_transaction for sample in others],
            ),
        )

    def missed(self, bound: Bound) -> list[str]:
        """Which of a bound's limits these values do not keep."""
        least = bound.tps_at_least
        is_fast = self.tps.high >= 1.0 if least is None else self.tps.value >= least
        limits = {"TPS": is_fast, "client CPU": self.cpu.value <= bound.cpu_at_most}
        return [name for name, is_kept in limits.items() if not is_kept]

    def __str__(self) -> str:
        """As it is printed."""
        return f"TPS {self.tps}   client CPU {self.cpu}"


@dataclass(frozen=True)
class Comparison:
    """One entrant relative to another, and the bare loops relative to the same."""

    bound: Bound
    own: Ratios
    floors: Mapping[str, Ratios]
    """By name."""

    @property
    def is_kept(self) -> bool:
        """Whether the bound is kept."""
        return not self.own.missed(self.bound)

    @property
    def unreachable(self) -> list[str]:
        """The limits that are not kept here, and that no bare loop keeps either."""
        by_floors = [floor.missed(self.bound) for floor in self.floors.values()]
        missed = self.own.missed(self.bound)
        return [name for name in missed if by_floors and all(name in each for each in by_floors)]

    def __str__(self) -> str:
        """As it is printed."""
        own = f"{self.bound.of.name} relative to {self.bound.relative_to.name}: {self.own}"
        floors = [f"{name}: {ratios}" for name, ratios in self.floors.items()]
        alike = self.unreachable
        said = [f"no bare loop keeps the bound of {' and '.join(alike)}"] if alike else []
        return "; ".join([own, *floors, *said])


def compare_all(
    tally: Tally, bench: BenchServer, chosen: Sequence[Case], rounds: int, seconds: int
) -> None:
    """Every case on this server, by the data that they need."""
    for data in dict.fromkeys(case.data for case in chosen):
        with_data = [case for case in chosen if case.data == data]
        copies = max(len(case.entrants) for case in with_data)
        try:
            databases = [_database(bench, data, number) for number in range(copies)]
        except DbdynoError as error:
            tally.not_measured([case.title for case in with_data], error)
            continue
        for case in with_data:
            with tally.attempt(case.title):
                for found in _compare(case, bench, databases, rounds, seconds):
                    tally.report(case.title, str(found), found.is_kept)


def _database(bench: BenchServer, data: Data, number: int) -> str:
    """A new database with these data."""
    name = f"{data.name}_{number}"
    bench.create(name)
    data.load(bench.endpoint("socket", name))
    return name


def _compare(
    case: Case, bench: BenchServer, databases: Sequence[str], rounds: int, seconds: int
) -> list[Comparison]:
    """Rounds with new processes and sessions; the databases change hands after each."""
    for entrant in case.entrants:
        entrant.tool.find()  # builds what has to be built
    samples: dict[Entrant, list[Sample]] = {entrant: [] for entrant in case.entrants}
    for number in range(rounds):
        offered = [*databases[number % len(databases) :], *databases[: number % len(databases)]]
        found = _round(case, bench, dict(zip(case.entrants, offered, strict=False)), seconds)
        for entrant, sample in found.items():
            samples[entrant].append(sample)
        shown = " | ".join(f"{entrant.name} {sample}" for entrant, sample in found.items())
        print(f"    {shown}", file=sys.stderr, flush=True)
    return [_comparison(case, bound, samples) for bound in case.bounds]


def _round(
    case: Case, bench: BenchServer, databases: Mapping[Entrant, str], seconds: int
) -> dict[Entrant, Sample]:
    """One run of each entrant, in turns."""
    endpoints = {name: bench.endpoint(case.way, name) for name in databases.values()}
    for endpoint in endpoints.values():
        case.data.settle(endpoint)
    entries = [_entry(case, bench, entrant, endpoints[name]) for entrant, name in databases.items()]
    found = take_turns(entries, seconds)
    return {
        entrant: Sample.of(entrant.tool.read(turns.finished.output), turns)
        for entrant, turns in zip(databases, found, strict=True)
    }


def _entry(case: Case, bench: BenchServer, entrant: Entrant, endpoint: Endpoint) -> Entry:
    def command(seconds: int) -> list[str]:
        return entrant.tool.command(case.load(entrant, seconds), endpoint)

    def has_connected() -> bool:
        return bench.sessions_in(endpoint.database) >= case.clients

    connecting_s = START_S + case.clients / CONNECTIONS_PER_S + entrant.checking_s
    return Entry(command, has_connected, connecting_s)


def _comparison(
    case: Case, bound: Bound, samples: Mapping[Entrant, Sequence[Sample]]
) -> Comparison:
    others = samples[bound.relative_to]
    apart = [] if bound.relative_to in case.floors else case.floors
    floors = {floor.name: Ratios.of(samples[floor], others) for floor in apart}
    return Comparison(bound, Ratios.of(samples[bound.of], others), floors)
