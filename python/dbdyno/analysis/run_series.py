"""Runs of one kind over time: the same work under the same load on the same server.

A kind is defined by the request: workload, place, clients, arrivals, limits, data, query
mode, and the options of a sysbench script. What may change from run to run is the subject of a
history: the server's version, its settings, the host, a script's text. Private servers of one
product are one place, wherever their data was. Runs with a tag whose values return (a, b, a) were
made to be compared with each other: each value is a series of its own. Values that never return,
such as those of a commit, are the course of time.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from dbdyno.analysis.history import MetricHistory, history
from dbdyno.analysis.unequal_conditions import CLOSED, Conditions, loop_of, tries_of, unequal
from dbdyno.analysis.workload_parameters import NO_DEFAULTS, Defaults, workload_parameters
from dbdyno.formatting import PRODUCTS
from dbdyno.model.record import Status
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


def is_of_a_history(status: Status, valid: bool | None, tags: Collection[str]) -> bool:
    """Whether this is a complete and valid run that was made on its own, by the tags it has."""
    return status == "done" and bool(valid) and not {*tags} & {*MADE_FOR}


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
    returning = [name for name in names if _returns([run.record.tags.get(name) for run in runs])]
    variants: dict[str, list[Conditions]] = {}
    for run in runs:
        tags = [f"{name}={run.record.tags.get(name, '')}" for name in sorted(returning)]
        variants.setdefault(", ".join(tags), []).append(run)
    return ((replace(kind, variant=variant), of) for variant, of in variants.items())


def _returns(values: Sequence[str | None]) -> bool:
    """Whether a value comes again after another one."""
    turns = [value for value, _ in groupby(values)]
    return len(turns) > len(set(turns))


def kind_of(run: Conditions, defaults: Defaults = NO_DEFAULTS) -> Kind:
    """The kind of a run, from its record and plan."""
    plan = run.plan
    parameters = workload_parameters(run.record, plan, defaults)
    return Kind(
        workload=_work(run),
        place=place_of(run.record.target, run.record.server),
        load=_load(plan),
        data=", ".join(f"{name} {value}".strip() for name, value in sorted(parameters.items())),
        query_mode=plan.get("query_mode", ""),
    )


def place_of(target: str, server: Mapping[str, Any]) -> str:
    """The product of a private server; the address of any other."""
    product = PRODUCTS.get(server.get("product", ""))
    if product is None or server.get("kind") == "existing":
        return target
    return f"{product}, {server['kind']}"


def _work(run: Conditions) -> str:
    """The workload, and the scripts with their weights if there are several."""
    scripts = run.plan.get("scripts", [])
    named = "+".join(f"{script['name']}@{script['weight']}" for script in scripts)
    return run.record.workload if len(scripts) < 2 else f"{run.record.workload} ({named})"


def _load(plan: Mapping[str, Any]) -> str:
    stages = plan.get("stages", [])
    clients = f"{plan.get('clients')} clients"
    rates = [_stage(stage) for stage in stages if stage.get("rate_tps") or stage.get("clients")]
    return ", ".join([clients, *rates, *_manner(plan)])


def _manner(plan: Mapping[str, Any]) -> Iterator[str]:
    """Arrivals, retries and limits, where they differ from the defaults."""
    loop, tries = loop_of(plan), tries_of(plan)
    if loop not in (None, CLOSED):
        yield str(loop)
    if limit_ns := plan.get("latency_limit_ns"):
        yield f"latency limit {limit_ns / 1e9:g} s"
    if tries not in (None, "1"):
        yield f"tries {tries}"
    if plan.get("reconnect_each_transaction"):
        yield "reconnecting"


def _stage(stage: Mapping[str, Any]) -> str:
    if stage.get("rate_tps"):
        return f"{stage['rate_tps']:g} per second"
    return f"a stage of {stage['clients']}"
