"""What a study will do, before anything starts: every point, time, disk, and what does not fit.

Servers are located and their settings checked by their own programs, scripts by the engine; nothing
is started, and only temporary files are written.
"""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from dbdyno.errors import DbdynoError, errors_about
from dbdyno.model.study import Point, StudySpec
from dbdyno.run.target import CONNECTIONS_SPARE
from dbdyno.run.tools import Tools
from dbdyno.servers.cluster import draw_blueprint
from dbdyno.servers.product import product_of
from dbdyno.servers.settings import Setting
from dbdyno.study.feasibility import (
    Needs,
    Refusal,
    folded,
    over_budget,
    over_disk,
    over_limits,
    over_memory,
)
from dbdyno.study.machine import Machine
from dbdyno.study.matrix import points_of
from dbdyno.study.rates import DRAIN_S, Rates
from dbdyno.study.resolved_point import (
    ResolvedPoint,
    resolve,
    script_texts,
    with_alike_servers,
    with_checked_scripts,
)

EMPTY_SERVER_BYTES = 60_000_000
RUN_BYTES = 2_000_000
"""Approximate size of a run's folder."""
WAL_BYTES_MAX = 2_000_000_000
WAL_BYTES_PER_S = 30_000_000


class PlannedPoint(Struct, frozen=True, kw_only=True):
    """A point as it will be run."""

    key: str
    command: str
    run_s: float | None
    """None when it counts transactions: their duration is not known."""
    prepare_s: float
    rows: int
    data_bytes: int


class StudyPlan(Struct, frozen=True, kw_only=True):
    """The whole plan, for people and programs."""

    spec: StudySpec
    points: Sequence[PlannedPoint]
    turns: int
    needs: Needs
    machine: Machine
    refusals: Sequence[Refusal]
    notes: Sequence[str]
    without_effect: str = ""
    """Reason why the study cannot find an effect on this host."""


def plan_study(spec: StudySpec, tools: Tools, machine: Machine, rates: Rates) -> StudyPlan:
    """Read every point, and check the whole against the host."""
    points = points_of(spec)
    notes: list[str] = []
    with tempfile.TemporaryDirectory(prefix="dbdyno-") as folder:
        resolved = resolve_all(points, Path(folder), notes.append)
        _refuse_worn_servers(spec, resolved)
        resolved = [with_checked_scripts(one, tools, notes.append) for one in resolved]
        planned = [
            PlannedPoint(
                key=one.key,
                command=one.command(Path(folder)),
                run_s=one.run_s,
                prepare_s=rates.prepare_s(one),
                rows=one.rows,
                data_bytes=one.data_bytes,
            )
            for one in resolved
        ]
    needs = needs_of(resolved, spec.repeats, rates)
    policies = [
        factor.name
        for factor in spec.factors
        if len(factor.levels) > 1 and any("numa" in level.options for level in factor.levels)
    ]
    return StudyPlan(
        spec=spec,
        points=planned,
        turns=spec.repeats * len(points),
        needs=needs,
        machine=machine,
        refusals=folded(_refusals(spec, resolved, needs, machine), spec.factors, points),
        notes=[*dict.fromkeys([*notes, *_notes(resolved, machine)])],
        without_effect=f"this host has one memory node, so the factor {policies[0]} can have no "
        "effect: whatever differs between its levels here is noise"
        if policies and machine.numa_nodes <= 1
        else "",
    )


def resolve_all(
    points: Sequence[Point], folder: Path, say: Callable[[str], None]
) -> list[ResolvedPoint]:
    """Parse all points; writes the texts of their scripts into the folder."""
    for name, text in script_texts([point.options for point in points]).items():
        (folder / name).write_text(text, encoding="utf-8")
    return with_alike_servers([resolve(point, folder, say) for point in points])


def needs_of(points: Sequence[ResolvedPoint], repeats: int, rates: Rates) -> Needs:
    """Estimate time and disk for all turns, and for the data that they share."""
    private = [(one, one.server) for one in points if one.server]
    # Points share prepared data that are alike in this, as far as is known before servers exist.
    data = {
        (server.spec.kind, server.spec.major, server.spec.path, one.shapes): one
        for one, server in private
        if one.tables
    }
    data_bytes = sum(one.data_bytes for one in data.values())
    working = max((one.data_bytes * server.spec.servers for one, server in private), default=0)
    servers = max((server.spec.servers for _, server in private), default=0)
    run_s = sum((one.run_s or 0) + DRAIN_S for one in points) * repeats
    longest_s = max((one.run_s or 0 for one, _ in private), default=0)
    wal = min(longest_s * WAL_BYTES_PER_S, WAL_BYTES_MAX) * servers
    empty = EMPTY_SERVER_BYTES * (len(data) + servers)
    return Needs(
        load_s=sum(rates.load_s(one) for one in data.values()),
        prepare_s=sum(map(rates.prepare_s, points)) * repeats,
        run_s=run_s,
        other_s=rates.other_s * len(points) * repeats,
        disk_bytes=round(data_bytes + working + wal + empty + RUN_BYTES * len(points) * repeats),
        data_bytes=data_bytes + working,
    )


def connections_of(points: Sequence[ResolvedPoint]) -> int:
    """Connections that every server of the study admits: a setting independent of the clients."""
    return max(one.job.clients for one in points) + CONNECTIONS_SPARE


def unfit(plan: StudyPlan, *, smaller: str = "") -> DbdynoError | None:
    """Return one error for all that does not fit; ``smaller`` names a size that would."""
    if not plan.refusals:
        return None
    hints = [*dict.fromkeys(refusal.hint for refusal in plan.refusals), smaller]
    return DbdynoError(
        "does_not_fit",
        "; ".join(refusal.message for refusal in plan.refusals),
        " ".join(filter(None, hints)),
    )


def _refusals(
    spec: StudySpec, points: Sequence[ResolvedPoint], needs: Needs, machine: Machine
) -> Iterator[Refusal]:
    yield from over_budget(needs, spec.budget_s, spec.repeats)
    yield from over_disk(needs, machine, points)
    settings: dict[bytes, Sequence[Setting]] = {}
    connections = connections_of(points)
    for one in points:
        if one.server is None:
            yield from over_limits(one, (), machine)
            continue
        key = msgspec.json.encode(one.server, enc_hook=str)  # with its settings and placement
        if key not in settings:
            with errors_about(one.key):  # they are checked by its program, without starting it
                settings[key] = draw_blueprint(
                    "private",
                    one.server.spec,
                    connections,
                    tcp=False,
                    placement=one.server.placement,
                ).settings
        yield from over_limits(one, settings[key], machine)
        yield from over_memory(one, settings[key], machine, product_of(one.server.spec.kind))


def _refuse_worn_servers(spec: StudySpec, points: Sequence[ResolvedPoint]) -> None:
    """Refuse events after which the server of a turn is another one than that of the next turn."""
    if spec.restore == "each run":
        return
    for one in points:
        for event in one.job.options.events:
            if one.server and event.action in {"kill-server", "restart", "promote"}:
                raise DbdynoError(
                    "bad_study",
                    f"{one.key}: after --event {event} the server is not the one that was started, "
                    f'and restore = "{spec.restore}" keeps it for the next turn',
                    'Write restore = "each run", or leave restore out.',
                )


def _notes(points: Sequence[ResolvedPoint], machine: Machine) -> Iterator[str]:
    if any(one.run_s is None for one in points):
        yield "the time of points that run a number of transactions is not known and not included"
    if any(one.server is None for one in points):
        yield "an already running server keeps its data and its cache from run to run"
    if any(one.job.work.lua is not None for one in points):
        yield "a sysbench script loads its data before each run: that time is not included"
    crowded = max(one.job.clients for one in points)
    if crowded > 100 * machine.cores:
        yield f"{crowded} clients on {machine.cores} cores: queues will also form in the kernel"
