"""What differs between the runs of two variants, durability first.

A server that does not wait for its disk is faster, so unequal durability is reported first. Then
follow the server's version and build, the schema, the plans of the statements, the settings, the
host, the workload, the load, the data and the placement. Whether a difference was intended is for
the user to judge.
"""

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from statistics import median
from typing import Any, Generic, TypeAlias, TypeVar

from msgspec import Struct

from dbdyno.analysis.compare.server_facts import (
    REMARKS,
    build_facts,
    cut,
    plan_facts,
    schema_facts,
)
from dbdyno.analysis.compare.workload_parameters import NO_DEFAULTS, Defaults, workload_parameters
from dbdyno.formatting import size
from dbdyno.model.host import Disk
from dbdyno.model.plan import Plan, Think
from dbdyno.model.record import RunRecord
from dbdyno.model.run import Conditions
from dbdyno.model.telemetry import PlanFacts

_SIZES_ALIKE = 1.1
_LENGTH_MAX = 60
DEFAULT = "the default"
_ABSENT = "not set"
_MISSING = "absent"
_UNKNOWN = "not known"
_EMPTY = "empty"
_DURABILITY = "Unequal durability"
_PROMISE = "the durability level"
_NO_LEVEL = "no known level"
CLOSED = "closed"
Facts: TypeAlias = Mapping[str, str]
Known = TypeVar("Known")
"""What is known of a run: its conditions, or its record alone."""


class Aspect(Struct, Generic[Known], frozen=True):
    """One kind of condition: its facts by name, and the text for one that is not known."""

    title: str
    facts: Callable[[Known], Facts]
    absent: str = _ABSENT
    is_cut: bool = False
    """Whether a long value is shown by its beginning, if that tells the two apart."""
    varies: bool = False
    """Whether it may vary by chance: then a value that both sides have is no difference."""

    def value(self, name: str, run: Known) -> str:
        """One fact of a run."""
        return self.facts(run).get(name, self.absent)


class _Variants(Struct, Generic[Known], frozen=True):
    """Both variants' runs, and their labels."""

    runs: tuple[Sequence[Known], Sequence[Known]]
    labels: tuple[str, str]
    are_of_one_product: bool
    """Whether their settings have the same names."""

    def values(self, of: Callable[[Known], str]) -> tuple[list[str], list[str]]:
        """The different values on each side."""
        before, after = ([*dict.fromkeys(map(of, side))] for side in self.runs)
        return before, after

    def all_have(self, of: Callable[[Known], object]) -> bool:
        """Whether this is known of every run."""
        return all(of(run) for side in self.runs for run in side)


def unequal(
    before: Sequence[Conditions],
    after: Sequence[Conditions],
    labels: tuple[str, str] = ("before", "after"),
    defaults: Defaults = NO_DEFAULTS,
) -> list[str]:
    """Every difference as a sentence, the most important first.

    ``defaults`` are those of each workload's parameters: an explicit default equals none.
    """
    variants = _variants(before, after, labels)
    aspects = _aspects(variants, defaults)
    of_aspects = [line for aspect in aspects for _, line in _differences(aspect, variants)]
    return [*_not_told(variants), *of_aspects, *_sizes(variants)]


def _not_told(variants: _Variants[Conditions]) -> Iterator[str]:
    """What the text of an imported run does not have."""
    for label, side in zip(variants.labels, variants.runs, strict=True):
        tools = dict.fromkeys(run.record.imported.tool for run in side if run.record.imported)
        if tools:
            yield (
                f"Not known of {label}: durability, settings, data and host, which the text of "
                f"{' and '.join(tools)} does not tell"
            )


def changed_plans(before: Sequence[Conditions], after: Sequence[Conditions]) -> list[str]:
    """The statements with another plan, in words; empty where plans were not recorded."""
    variants = _variants(before, after, ("", ""))
    if not variants.are_of_one_product or not variants.all_have(_plans):
        return []
    found = dict(_differences(_PLANS, variants))
    return [f"the plan {name.removeprefix('that ')} changed" for name in found]


def unequal_durability(
    before: Sequence[RunRecord],
    after: Sequence[RunRecord],
    labels: tuple[str, str],
    intended: Collection[str] = (),
) -> list[str]:
    """Only the differences in durability, for which the records are enough.

    ``intended`` settings differ on purpose, and so does the durability level if they alone differ.
    """
    variants = _Variants((before, after), labels, _are_of_one_product(before, after))
    found = dict(_differences(Aspect(_DURABILITY, durability_facts, _UNKNOWN), variants))
    settings = found.keys() - {_PROMISE}
    if settings and settings <= set(intended):
        return []
    return [line for name, line in found.items() if name not in intended]


def _variants(
    before: Sequence[Conditions], after: Sequence[Conditions], labels: tuple[str, str]
) -> _Variants[Conditions]:
    records = ([run.record for run in side] for side in (before, after))
    is_told = any(run.record.imported for side in (before, after) for run in side)
    # What a text does not tell is not known, and no difference.
    is_alike = _are_of_one_product(*records) and not is_told
    return _Variants((before, after), labels, is_alike)


def _are_of_one_product(before: Iterable[RunRecord], after: Iterable[RunRecord]) -> bool:
    first, second = ([run.server.get("product", "") for run in side] for side in (before, after))
    return {*first} == {*second}


def _differences(aspect: Aspect[Known], variants: _Variants[Known]) -> Iterator[tuple[str, str]]:
    """Each difference by the name of the fact, as a sentence."""
    for name in _names(aspect, variants):
        before, after = variants.values(partial(aspect.value, name))
        if sorted(before) != sorted(after) and not (aspect.varies and {*before} & {*after}):
            values = _difference(before, after, variants.labels, is_cut=aspect.is_cut)
            yield name, f"{aspect.title}: {name} {values}{REMARKS.get(name, '')}"


def _names(aspect: Aspect[Known], variants: _Variants[Known]) -> list[str]:
    """Names to compare; for two products only those that both have.

    The durability level comes first, the settings behind it after.
    """
    before, after = ({name for run in side for name in aspect.facts(run)} for side in variants.runs)
    names = before | after if variants.are_of_one_product else before & after
    return sorted(names, key=lambda name: (name != _PROMISE, name))


def _difference(
    before: Sequence[str], after: Sequence[str], labels: tuple[str, str], *, is_cut: bool = False
) -> str:
    """The values of each side, or only that they differ if they are too long to print."""
    if is_cut:
        before, after = ([*dict.fromkeys(map(cut, side))] for side in (before, after))
        if sorted(before) == sorted(after):
            return "differs"
    elif max(map(len, [*before, *after])) > _LENGTH_MAX:
        return "differs"
    first, second = (" or ".join(values) for values in (before, after))
    return f"is {first} in {labels[0]}, {second} in {labels[1]}"


def durability_facts(record: RunRecord) -> Facts:
    """The durability level, named alike for every database, and the settings behind it."""
    server = record.server
    settings = {name: str(value) for name, value in server.get("durability", {}).items()}
    no_level = _NO_LEVEL if settings and "promise" in server else None
    promise = server.get("promise") or no_level
    return {_PROMISE: promise, **settings} if promise else settings


def _version(run: Conditions) -> Facts:
    server = run.record.server
    if run.record.imported and not server.get("version"):
        return {}
    return {"the version": f"{server.get('product', '')} {server.get('version', '')}".strip()}


def _plans(run: Conditions) -> Facts:
    """The plans before the load, or those after it if there were none yet."""
    moments = (facts.plans for facts in (run.before, run.after) if facts)
    plans: Sequence[PlanFacts] = next(filter(None, moments), ())
    return plan_facts(plans, [statement.sql for statement in run.record.statements])


def setting_facts(run: Conditions) -> Facts:
    """Server settings except directories, which differ for private servers, and durability."""
    durable = run.record.server.get("durability", {})
    return {
        one.name: _with_unit(one.value, one.unit) or _EMPTY
        for one in run.server.settings
        if one.name not in durable and not one.value.startswith("/")
    }


def _with_unit(value: str, unit: str) -> str:
    """A value in its unit; PostgreSQL counts some settings in blocks, of which the unit is 8kB."""
    blocks = re.fullmatch(r"(\d+)(\D+)", unit)
    if blocks and value.isdigit():
        return f"{int(value) * int(blocks[1])} {blocks[2]}"
    return f"{value} {unit}".strip()


def _host(run: Conditions) -> Facts:
    host = run.host
    disk = host.disk or Disk()  # that of a server on another host is not known
    reported = {
        "its name": host.name,
        "the CPU model": host.cpu.model,
        "the number of cores": host.cpu.cores_available,
        "the CPU governor": host.cpu.governor,
        "the memory in bytes": host.memory.total_bytes or None,
        "the transparent huge pages setting": host.memory.transparent_huge_pages,
        "the kernel": host.kernel.release,
        "kernel.sched_autogroup_enabled": host.kernel.sched_autogroup_enabled,
        "the file system": disk.file_system,
        "the disk": disk.device,
        "the operating system": host.kernel.distribution,
        "the CPU limit": host.cgroup.cpu_cores,
        "the memory limit": host.cgroup.memory_bytes,
    }
    return {name: str(value) for name, value in reported.items() if value is not None}


def _work(run: Conditions) -> Facts:
    """What clients run. For texts only the fact that they differ is reported.

    A script is known by its file's name: the two sides may be of two checkouts.
    """
    if told := run.record.imported:
        mode = {"the query mode": told.query_mode} if told.query_mode else {}
        return {"the name": run.record.workload, **mode}
    scripts: dict[str, str] = {}
    for script in run.plan.scripts:
        name = f"the text or weight of {script.name.rpartition('/')[2]}"
        scripts[name] = f"{scripts.get(name, '')}{script.weight}: {script.text}"
    return {"the name": run.record.workload, "the query mode": run.plan.query_mode, **scripts}


def _load(run: Conditions) -> Facts:
    if told := run.record.imported:
        known = {
            "the number of clients": told.clients,
            "the number of threads": told.threads,
            "the measured time in seconds": run.record.duration_s,
            "the rate": told.rate_tps,
        }
        return {name: _plain(value) for name, value in known.items() if value is not None}
    plan, stages = run.plan, run.plan.stages
    reported: dict[str, Any] = {
        "the number of clients": plan.clients,
        "the number of threads": plan.threads,
        "the loop": loop_of(plan),
        "the measured time in seconds": [_seconds(stage.duration_ns) for stage in stages],
        "the number of transactions per client": plan.transactions_per_client,
        "the number of clients of each stage": [stage.clients for stage in stages],
        "the rate": [stage.rate_tps for stage in stages],
        "the warm-up in seconds": _seconds(plan.warmup_ns),
        "the latency limit in seconds": _seconds(plan.latency_limit_ns),
        "the maximum number of attempts": tries_of(plan),
        "reconnecting for each transaction": plan.reconnect_each_transaction,
    }
    return {
        name: _plain(value)
        for name, value in reported.items()
        if any(one is not None for one in (value if isinstance(value, list) else [value]))
    }


def _seconds(nanoseconds: int | None) -> float | None:
    return None if nanoseconds is None else nanoseconds / 1e9


def loop_of(plan: Plan) -> str:
    """``closed``, ``closed, thinking for 0.01 s (constant)`` or ``open, poisson``."""
    if plan.arrivals.open:
        return f"open, {plan.arrivals.open.law}"
    if any(script.pacing for script in plan.scripts):
        return f"{CLOSED}, paced by its scripts"
    think = plan.arrivals.closed.think if plan.arrivals.closed else Think()
    if not think.mean_ns:
        return CLOSED
    return f"{CLOSED}, thinking for {think.mean_ns / 1e9:g} s ({think.law})"


def tries_of(plan: Plan) -> str:
    """``1``, ``without limit``, ``10, for 2 s``: how often a transaction is tried."""
    limit_s = _seconds(plan.retry.time_max_ns)
    most = f"{plan.retry.tries_max}" if plan.retry.tries_max else "without limit"
    return most if limit_s is None else f"{most}, for {limit_s:g} s"


def isolation_of(record: RunRecord) -> Iterator[str]:
    """``isolation level serializable``, ``read only``: what was requested of transactions."""
    found = record.isolation
    if found and found.is_requested:
        yield f"isolation level {found.level}"
    if found and found.access_mode == "read only":
        yield found.access_mode


def _plain(value: Any) -> str:
    """A value as it is written; those of several stages one after the other."""
    if isinstance(value, list):
        return ", ".join(map(_plain, value))
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)


_PLANS = Aspect("Different plan", _plans, _UNKNOWN, is_cut=True, varies=True)


def _aspects(variants: _Variants[Conditions], defaults: Defaults) -> tuple[Aspect[Conditions], ...]:
    """All aspects that can be compared, the most important first."""
    are_isolated = variants.all_have(lambda run: run.record.isolation)  # older runs did not ask
    return (
        Aspect(_DURABILITY, lambda run: durability_facts(run.record), _UNKNOWN),
        Aspect("Different server", _version),
        *_aspect_of_connections(variants),
        *_aspects_within_a_product(variants),
        Aspect("Different setting", setting_facts, DEFAULT),
        Aspect("Different host", _host),
        Aspect("Different workload", _work),
        Aspect(
            "Different transactions",
            lambda run: (
                {
                    "the isolation level": found.level,
                    "the access mode": found.access_mode,
                }
                if are_isolated and (found := run.record.isolation)
                else {}
            ),
        ),
        Aspect("Different load", _load),
        Aspect(
            "Different data",
            lambda run: {
                name: _plain(value)
                for name, value in workload_parameters(run.record, run.plan, defaults).items()
            },
        ),
        # What was requested; what was then observed of it belongs to the run.
        Aspect("Different placement", lambda run: run.server.placement.asked),
    )


def _aspect_of_connections(variants: _Variants[Conditions]) -> Iterator[Aspect[Conditions]]:
    """What connections go through: of older runs, and of private servers, it was not asked."""
    known = [run.record.intermediaries for side in variants.runs for run in side]
    if any(known) and None not in known:
        yield Aspect(
            "Different connections",
            lambda run: {
                "what they go through": " and ".join(
                    one.title for one in run.record.intermediaries or ()
                )
                or "nothing"
            },
        )


def _aspects_within_a_product(
    variants: _Variants[Conditions],
) -> Iterator[Aspect[Conditions]]:
    """What has the same names and terms only in servers of one product, where it was recorded."""
    if not variants.are_of_one_product:
        return
    if variants.all_have(lambda run: run.server.build):
        yield Aspect(
            "Different build",
            lambda run: build_facts(run.server.build, run.record.dbdyno_version),
            is_cut=True,
        )
    if variants.all_have(lambda run: run.schema):
        schemas = [run.schema for side in variants.runs for run in side if run.schema]
        yield Aspect(
            "Different schema",
            lambda run: schema_facts(schemas, run.schema) if run.schema else {},
            _MISSING,
            is_cut=True,
        )
    if variants.all_have(_plans):
        yield _PLANS


def _sizes(variants: _Variants[Conditions]) -> Iterator[str]:
    """Databases of different size; the space of an update's new versions makes no difference."""
    known = ([run.server.database_bytes for run in side] for side in variants.runs)
    before, after = (median(filter(None, each)) if any(each) else None for each in known)
    if before and after and max(before, after) > _SIZES_ALIKE * min(before, after):
        reported = _difference([size(before)], [size(after)], variants.labels)
        yield f"Different data: the size of the database {reported}"
