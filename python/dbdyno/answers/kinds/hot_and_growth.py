"""HOT updates and growth: how many updates touched no index, and how the tables grew.

The counts are those of the server's statistics over the measurement; sizes are those before and
after the load, warm-up included. Only PostgreSQL has HOT updates: runs on other servers show only
their growth.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from msgspec import Struct

from dbdyno.answers.answer import Answer, Answered, Claim, TableOf, Trial, Trials
from dbdyno.answers.grouping import by_point, chosen, label_of, point_cells, titles_of, varied
from dbdyno.answers.hot_updates import counted
from dbdyno.formatting import NOTHING, count, percent, size
from dbdyno.model.counters import PgUserTables
from dbdyno.model.telemetry import ServerFacts

Levels: TypeAlias = tuple[tuple[str, str], ...]


class _Updates(Struct, frozen=True):
    """What some runs did to their tables, added up; bytes are means per run."""

    updates: float
    hot: float
    autovacuums: float
    heap: tuple[float, float] | None
    indexes: tuple[float, float] | None

    @property
    def hot_share(self) -> float | None:
        """Share of all updates; None without updates."""
        return self.hot / self.updates if self.updates else None


def answer(trials: Trials, options: Mapping[str, Any]) -> Answered:
    """A row for each point that wrote, and the claim for those that updated."""
    points = by_point(chosen(trials, options.get("at")))
    added_up = {point: _added_up(of) for point, of in points.items()}
    written = {point: of for point, of in added_up.items() if of.updates or _has_grown(of)}
    if not written:
        return Answered(claims=[], missing="no run counted updates or sizes of its tables")
    factors = varied(trials, [trial for point in written for trial in points[point]])
    claims = [
        claim
        for point, of in written.items()
        if (claim := _claim(label_of(trials, point, factors), of))
    ]
    return Answered(claims=claims, shown=[_table(titles_of(trials, factors), factors, written)])


def _added_up(among: Sequence[Trial]) -> _Updates:
    return _Updates(
        updates=counted(among, PgUserTables.n_tup_upd),
        hot=counted(among, PgUserTables.n_tup_hot_upd),
        autovacuums=counted(among, PgUserTables.autovacuum_count),
        heap=_sizes(among, _heap_bytes),
        indexes=_sizes(among, _index_bytes),
    )


def _heap_bytes(facts: ServerFacts) -> float:
    return float(sum(table.bytes for table in facts.tables))


def _index_bytes(facts: ServerFacts) -> float:
    return float(sum(index.bytes for table in facts.tables for index in table.indexes))


def _sizes(among: Sequence[Trial], bytes_of: Any) -> tuple[float, float] | None:
    """Size before and after the load, means over the runs that recorded both."""
    known = [
        (bytes_of(run.before), bytes_of(run.after))
        for run in (trial.run for trial in among)
        if run.before and run.after and run.before.tables
    ]
    if not known:
        return None
    before, after = (sum(side) / len(known) for side in zip(*known, strict=True))
    return before, after


def _has_grown(of: _Updates) -> bool:
    return any(sizes and sizes[1] > sizes[0] for sizes in (of.heap, of.indexes))


def _claim(label: str, of: _Updates) -> Claim | None:
    if of.hot_share is None:
        return None
    return Claim(
        sentence=f"{label}: {percent(of.hot_share)} of {count(of.updates)} updates were HOT"
        f"{_growth_text(of)}; autovacuum ran {count(of.autovacuums)} times.",
        is_decided=True,
        effect=of.hot_share,
        evidence={"updates": of.updates, "hot": of.hot, "autovacuums": of.autovacuums},
    )


def _growth_text(of: _Updates) -> str:
    parts = (("heap", of.heap), ("indexes", of.indexes))
    changes = [f"{name} {_change(sizes)}" for name, sizes in parts if sizes and sizes[0]]
    return f"; {', '.join(changes)}" if changes else ""


def _change(sizes: tuple[float, float]) -> str:
    before, after = sizes
    if after == before:
        return f"unchanged at {size(before)}"
    return f"from {size(before)} to {size(after)} ({(after / before - 1) * 100:+.2g} %)"


def _table(
    titles: Sequence[str],
    factors: Sequence[str],
    points: Mapping[Levels, _Updates],
) -> TableOf:
    return TableOf(
        title="HOT updates and growth",
        columns=(
            *titles,
            "updates",
            "HOT",
            "autovacuums",
            "heap",
            "heap after",
            "indexes",
            "indexes after",
        ),
        rows=[(*point_cells(point, factors), *_row(of)) for point, of in points.items()],
        numeric=frozenset(range(len(titles), len(titles) + 7)),
        note="Counts are sums over runs; sizes are means per run, before and after it.",
    )


def _row(of: _Updates) -> tuple[str, ...]:
    sides = [side for sizes in (of.heap, of.indexes) for side in (sizes or (None, None))]
    return (
        count(of.updates),
        NOTHING if of.hot_share is None else percent(of.hot_share),
        count(of.autovacuums),
        *(NOTHING if side is None else size(side) for side in sides),
    )


ANSWER = Answer(
    id="hot-and-growth",
    title="HOT updates and growth of heap and index",
    options={"at": "levels of factors to select runs; default: all runs"},
    answer=answer,
)
