"""Tools drive the same load in turns, on one server and equal data."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bench.cases import Bound, Case, Entrant
from bench.data import Data
from bench.process import Finished
from bench.ratio import Ratio, ratio_of_pairs
from bench.server import BenchServer
from bench.tally import Tally
from bench.tool import Outcome
from bench.turns import Entry, take_turns
from dbdyno.errors import DbdynoError
from dbdyno.model.plan import Endpoint

CONNECTIONS_PER_S = 200
"""Fewer than every tool and server make."""
START_S = 1.0


@dataclass(frozen=True)
class Sample:
    """One run of one tool."""

    tps: float
    cpu_us_per_transaction: float
    failed_share: float

    @classmethod
    def of(cls, outcome: Outcome, finished: Finished) -> "Sample":
        """The tool's own counts; its stops and its CPU time were measured from outside."""
        return cls(
            outcome.transactions / (outcome.load_s - finished.stopped_s),
            finished.cpu_s * 1e6 / outcome.transactions,
            outcome.failed / (outcome.transactions + outcome.failed),
        )

    def __str__(self) -> str:
        """As it is printed, failures only if there were any."""
        failed = f" {self.failed_share:.2%} failed" if self.failed_share else ""
        return f"{self.tps:,.0f} TPS {self.cpu_us_per_transaction:.2f} µs{failed}"


@dataclass(frozen=True)
class Comparison:
    """Ratios of one entrant to another."""

    bound: Bound
    tps: Ratio
    cpu: Ratio

    @property
    def is_kept(self) -> bool:
        """Whether the bound is kept."""
        least = self.bound.tps_at_least
        fast = self.tps.high >= 1.0 if least is None else self.tps.value >= least
        return fast and self.cpu.value <= self.bound.cpu_at_most

    def __str__(self) -> str:
        """As it is printed."""
        names = f"{self.bound.of.name} relative to {self.bound.relative_to.name}"
        return f"{names}: TPS {self.tps}   client CPU {self.cpu}"


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
    return [
        _comparison(bound, samples[bound.of], samples[bound.relative_to]) for bound in case.bounds
    ]


def _round(
    case: Case, bench: BenchServer, databases: Mapping[Entrant, str], seconds: int
) -> dict[Entrant, Sample]:
    """One run of each entrant, in turns."""
    endpoints = {name: bench.endpoint(case.way, name) for name in databases.values()}
    for endpoint in endpoints.values():
        case.data.settle(endpoint)
    entries = [_entry(case, bench, entrant, endpoints[name]) for entrant, name in databases.items()]
    finished = take_turns(entries, seconds)
    return {
        entrant: Sample.of(entrant.tool.read(run.output), run)
        for entrant, run in zip(databases, finished, strict=True)
    }


def _entry(case: Case, bench: BenchServer, entrant: Entrant, endpoint: Endpoint) -> Entry:
    def command(seconds: int) -> list[str]:
        return entrant.tool.command(case.load(entrant, seconds), endpoint)

    def has_connected() -> bool:
        return bench.sessions_in(endpoint.database) >= case.clients

    return Entry(command, has_connected, START_S + case.clients / CONNECTIONS_PER_S)


def _comparison(bound: Bound, own: Sequence[Sample], others: Sequence[Sample]) -> Comparison:
    return Comparison(
        bound,
        ratio_of_pairs([sample.tps for sample in own], [sample.tps for sample in others]),
        ratio_of_pairs(
            [sample.cpu_us_per_transaction for sample in own],
            [sample.cpu_us_per_transaction for sample in others],
        ),
    )
