"""Runs of one kind over time: the same work under the same load on the same server.

A kind is defined by the request: workload, place, clients, arrivals, limits, data, query
mode, and the options of a sysbench script. What may change from run to run is the subject of a
history: the server's version, its settings, the host, a script's text. Private servers of one
product are one place, wherever their data was. Runs with a tag whose values return (a, b, a) were
made to be compared with each other: each value is a series of its own. Values that never return,
such as those of a commit, are the course of time.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain, groupby

from msgspec import Struct
from msgspec.structs import replace

from dbdyno.analysis.compare.history import MetricHistory, history
from dbdyno.analysis.compare.unequal_conditions import (
    CLOSED,
    isolation_of,
    loop_of,
    tries_of,
    unequal,
)
from dbdyno.analysis.compare.workload_parameters import NO_DEFAULTS, Defaults, workload_parameters
from dbdyno.model.plan import Plan
from dbdyno.model.record import RunRecord, Status
from dbdyno.model.run import Conditions
from dbdyno.model.study import MADE_FOR

# Two levels of two runs each: fewer runs cannot show a change.
RUNS_MIN = 4


class Kind(Struct, frozen=True, kw_only=True):
    """What all runs of a series have in common."""

    workload: str
    place: str
    load: str
    data: str
    query_mode: str
    variant: str = ""
    """The tags that tell it from other series of the same work."""

    @property
    def text(self) -> str:
        """The kind in one line."""
        rest = (self.load, self.query_mode, self.data, self.variant)
        return f"{self.workload} on {self.place}: {', '.join(filter(None, rest))}"


class RunSeries(Struct, frozen=True, kw_only=True):
    """Runs of one kind, the oldest first, with the histories of their metrics."""

    kind: Kind
    runs: Sequence[Conditions]
    metrics: Sequence[MetricHistory]
    defaults: Defaults

    def differs(self, index: int) -> list[str]:
        """What else differs between this run and the one before it."""
        labels = ("the run before", "this one")
        return unequal([self.runs[index - 1]], [self.runs[index]], labels, self.defaults)


def is_of_a_history(
    status: Status, valid: bool | None, tags: Collection[str], *, is_imported: bool
) -> bool:
    """Whether this is a complete and valid run that was made on its own, by the tags it has.

    Of an imported run it is not known whether it is valid.
    """
    is_usable = valid is not False if is_imported else bool(valid)
    return status == "done" and is_usable and not {*tags} & {*MADE_FOR}


def series_of(
    runs: Iterable[Conditions],
    metrics: Sequence[str] | None = None,
    defaults: Defaults = NO_DEFAULTS,
) -> list[RunSeries]:
    """The runs by kind, the kind with the most runs first.

    ``defaults`` are those of each workload's parameters: an explicit default equals none.
    """
    kinds: dict[Kind, list[Conditions]] = {}
    for run in sorted(runs, key=lambda run: run.record.started_at):
        kinds.setdefault(kind_of(run, defaults), []).append(run)
    kinds = dict(chain.from_iterable(_by_variant(kind, of) for kind, of in kinds.items()))
    found = [
        RunSeries(
            kind=kind,
            runs=of_kind,
            metrics=history([run.record for run in of_kind], metrics),
            defaults=defaults,
        )
        for kind, of_kind in kinds.items()
    ]
    return sorted(found, key=lambda series: -len(series.runs))


def _by_variant(kind: Kind, runs: Sequence[Conditions]) -> Iterator[tuple[Kind, list[Conditions]]]:
    """Divide runs of one kind by the tags whose values return."""
    names = dict.fromkeys(name for run in runs for name in run.record.tags)
    turns_of = {
        name: [value for value, _ in groupby(run.record.tags.get(name) for run in runs)]
        for name in names
    }
    returning = [name for name, turns in turns_of.items() if len(turns) > len(set(turns))]
    variants: dict[str, list[Conditions]] = {}
    for run in runs:
        tags = [f"{name}={run.record.tags.get(name, '')}" for name in sorted(returning)]
        variants.setdefault(", ".join(tags), []).append(run)
    return ((replace(kind, variant=variant), of) for variant, of in variants.items())


def kind_of(run: Conditions, defaults: Defaults = NO_DEFAULTS) -> Kind:
    """The kind of a run, from its record and plan."""
    plan, workload, told = run.plan, run.record.workload, run.record.imported
    parameters = workload_parameters(run.record, plan, defaults)
    if len(plan.scripts) > 1:
        named = "+".join(f"{script.name}@{script.weight}" for script in plan.scripts)
        workload = f"{workload} ({named})"
    return Kind(
        workload=workload,
        place=place_of(run.record),
        load=_load(plan, run.record),
        data=", ".join(f"{name} {value}".strip() for name, value in sorted(parameters.items())),
        query_mode=told.query_mode or "" if told else plan.query_mode,
    )


def place_of(record: RunRecord) -> str:
    """The product of a private server; the address of any other; of imported runs, the tool."""
    if record.imported:
        return f"measured by {record.imported.tool}"
    kind = record.server.get("kind")
    return f"{record.server['title']}, {kind}" if kind in ("private", "kept") else record.target


def _load(plan: Plan, record: RunRecord) -> str:
    """Clients and rates; arrivals, retries and limits where they differ from the defaults."""
    loop, tries = loop_of(plan), tries_of(plan)
    parts = [
        f"{plan.clients} clients",
        *(
            f"{stage.rate_tps:g} per second" if stage.rate_tps else f"a stage of {stage.clients}"
            for stage in plan.stages
            if stage.rate_tps or stage.clients
        ),
        loop if loop != CLOSED else "",
        f"latency limit {plan.latency_limit_ns / 1e9:g} s" if plan.latency_limit_ns else "",
        f"tries {tries}" if tries != "1" else "",
        "reconnecting" if plan.reconnect_each_transaction else "",
        *isolation_of(record),
    ]
    return ", ".join(filter(None, parts))
