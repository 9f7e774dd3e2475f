"""What exceeds budget, disk, memory or limits, and what would fit.

Pure: estimates and limits in, refusals out. Estimates are described as such; a refusal names the
scale, the repeats or the clients that would fit. One cause is reported once, with the levels that
its points share: a long list of lines that differ only in a point's name hides the one that does
not.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from dbdyno.formatting import counted, gigabytes, roughly
from dbdyno.model.study import Factor, Point
from dbdyno.run.target import CONNECTIONS_SPARE
from dbdyno.servers.product import Product
from dbdyno.servers.settings import Setting, size_bytes
from dbdyno.study.machine import Machine
from dbdyno.study.resolved_point import ResolvedPoint

MEMORY_SHARE_MAX = 0.9
DISK_SPARE_BYTES = 500_000_000


class Needs(Struct, frozen=True, kw_only=True):
    """The estimated needs of a study: seconds, and bytes that are on disk at the same time."""

    load_s: float
    prepare_s: float
    run_s: float
    other_s: float
    disk_bytes: int
    data_bytes: int
    """The part of ``disk_bytes`` that grows with the scale of the data."""

    @property
    def total_s(self) -> float:
        """Time from the first load to the last run."""
        return self.load_s + self.prepare_s + self.run_s + self.other_s


class Refusal(Struct, frozen=True, kw_only=True):
    """Something that does not fit, and what would."""

    message: str
    hint: str
    points: tuple[str, ...] = ()
    """The keys of the points that cannot run for this reason; empty if it concerns the whole."""


def over_budget(needs: Needs, budget_s: float | None, repeats: int) -> Iterator[Refusal]:
    """Refuse a study that takes longer than its budget."""
    if budget_s is None or needs.total_s <= budget_s:
        return
    for_turns = max(budget_s - needs.load_s, 0)
    fitting = int(repeats * for_turns / max(needs.total_s - needs.load_s, 1e-9))
    hint = f"--repeats {fitting} would fit." if fitting >= 2 else "Use a smaller size."
    yield Refusal(
        message=f"it takes about {roughly(needs.total_s)}, but its budget is {roughly(budget_s)}",
        hint=hint,
    )


def over_disk(needs: Needs, machine: Machine, points: Sequence[ResolvedPoint]) -> Iterator[Refusal]:
    """Refuse data sets that, with a server's working copy, do not fit on the disk."""
    room = machine.disk_free_bytes - DISK_SPARE_BYTES
    if needs.disk_bytes <= room:
        return
    for_data = max(room - (needs.disk_bytes - needs.data_bytes), 0)
    yield Refusal(
        message=f"it needs about {gigabytes(needs.disk_bytes + DISK_SPARE_BYTES)} of disk, but "
        f"{gigabytes(machine.disk_free_bytes)} are free",
        hint=_smaller_data(for_data / needs.data_bytes if needs.data_bytes else 0, points),
    )


def over_memory(
    point: ResolvedPoint, settings: Sequence[Setting], machine: Machine, product: Product
) -> Iterator[Refusal]:
    """Refuse a server whose cache and sessions do not fit into memory."""
    held = product.huge_pages
    cache = next((s for s in settings if s.name == held.cache), None)
    cache_bytes = size_bytes(cache.value, held.bare_unit_bytes) if cache else 0
    each = machine.memory_bytes // (point.server.spec.parts if point.server else 1)
    granted = min(each, point.job.options.server_memory_bytes or each)
    room = granted * MEMORY_SHARE_MAX
    a_session = product.database.session_bytes
    if cache is None or cache_bytes + point.job.clients * a_session <= room:
        return
    clients = max(int((room - cache_bytes) / a_session), 0)
    need = "and a session for each client need" if clients else "needs"
    fitting = counted(clients, "client") if clients else f"{cache.name} below {gigabytes(room)}"
    yield Refusal(
        message=f"{cache.name} = {cache.value} {need} more than {MEMORY_SHARE_MAX:.0%} of the "
        f"{gigabytes(granted)} of memory",
        hint=f"{fitting} would fit.",
        points=(point.key,),
    )


def over_limits(
    point: ResolvedPoint, settings: Sequence[Setting], machine: Machine
) -> Iterator[Refusal]:
    """Refuse more connections than the server or this process may open."""
    if point.job.clients > machine.clients_max:
        yield Refusal(
            message="the limit on open files is too low for this many clients",
            hint=f"{counted(machine.clients_max, 'client')} would fit; "
            "ulimit -Hn raises the limit.",
            points=(point.key,),
        )
    admitted = next((s for s in settings if s.name == "max_connections"), None)
    if admitted is None or not admitted.value.isdecimal():
        return
    room = int(admitted.value) - CONNECTIONS_SPARE
    if point.job.clients > room:
        fitting = f"{counted(room, 'client')} would fit; or " if room > 0 else ""
        yield Refusal(
            message=f"max_connections = {admitted.value} allows too few clients",
            hint=f"{fitting}leave max_connections out: dbdyno then chooses it.",
            points=(point.key,),
        )


def _smaller_data(share: float, points: Sequence[ResolvedPoint]) -> str:
    """Return a hint on the scale that would fit, if the largest points have one."""
    largest = max(points, key=lambda one: one.data_bytes)
    workload = largest.job.work.workload
    if workload is None:
        return "Free some space, or set DBDYNO_HOME to a folder on a larger disk."
    values: Mapping[str, object] = largest.job.work.complete()
    scale = math.floor(int(str(values[workload.scale_name])) * share)
    if scale < 1:
        return "Not even the smallest scale fits: set DBDYNO_HOME to a folder on a larger disk."
    return f"{workload.scale_name} = {scale} at most would fit, or DBDYNO_HOME on a larger disk."


def folded(
    refusals: Iterable[Refusal], factors: Sequence[Factor], points: Sequence[Point]
) -> list[Refusal]:
    """Merge refusals with the same words into one that says which points it concerns."""
    by_text: dict[tuple[str, str], list[str]] = {}
    for one in refusals:
        by_text.setdefault((one.message, one.hint), []).extend(one.points)
    merged = []
    for (message, hint), keys in by_text.items():
        met = [point for point in points if point.key in keys]
        where = f": {_where(met, factors, points)}" if met else ""
        merged.append(Refusal(message=f"{message}{where}", hint=hint, points=tuple(keys)))
    return merged


def _where(met: Sequence[Point], factors: Sequence[Factor], points: Sequence[Point]) -> str:
    """Return ``36 of 72 points, engine postgres``: levels of factors that are partly affected."""
    if len(met) == 1:
        return met[0].key
    if len(met) == len(points):
        return f"all {len(points)} points"
    parts = [f"{len(met)} of {len(points)} points"]
    for factor in factors:
        known = [level.name for level in factor.levels]
        here, there = ({point.levels[factor.name] for point in side} for side in (met, points))
        if here != there:
            parts.append(f"{factor.name} {_span([name for name in known if name in here], known)}")
    return ", ".join(parts)


def _span(names: Sequence[str], known: Sequence[str]) -> str:
    """Name levels that are adjacent in the file by the first and the last."""
    first = known.index(names[0])
    if len(names) > 2 and list(names) == list(known[first : first + len(names)]):
        return f"{names[0]} to {names[-1]}"
    return " and ".join(names)
