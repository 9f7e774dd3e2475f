"""HOT updates and growth: how many updates touched no index, and how the tables grew.

The counts are those of the server's statistics over the measurement; sizes are those before and
after the load, warm-up included. Only PostgreSQL has HOT updates: runs on other servers show only
their growth.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from dbdyno.answers.answer import Answer, Answered, Claim, Trial, Trials
from dbdyno.answers.grouping import by_point, chosen
from dbdyno.answers.measuring import counted
from dbdyno.answers.tables import Points, or_nothing
from dbdyno.formatting import NOTHING, count, percent, size
from dbdyno.model.counters import PgUserTables
from dbdyno.model.telemetry import TableFacts


class _Updates(Struct, frozen=True):
    """What some runs did to their tables, added up; bytes are means per run."""

    updates: float
    hot: float
    autovacuums: float
    heap: tuple[float, float] | None
    indexes: tuple[float, float] | None

    @classmethod
    def during(cls, among: Sequence[Trial]) -> "_Updates":
        """What these runs did."""
        return cls(
            updates=counted(among, PgUserTables.n_tup_upd),
            hot=counted(among, PgUserTables.n_tup_hot_upd),
            autovacuums=counted(among, PgUserTables.autovacuum_count),
            heap=_sizes(among, lambda table: table.bytes),
            indexes=_sizes(among, lambda table: sum(index.bytes for index in table.indexes)),
        )

    @property
    def wrote(self) -> bool:
        """Whether there were updates, or growth."""
        grown = (sizes and sizes[1] > sizes[0] for sizes in (self.heap, self.indexes))
        return bool(self.updates) or any(grown)

    @property
    def hot_share(self) -> float | None:
        """Share of all updates; None without updates."""
        return self.hot / self.updates if self.updates else None


def answer(trials: Trials, options: Mapping[str, Any]) -> Answered:
    """A row for each point that wrote, and the claim for those that updated."""
    runs = by_point(chosen(trials, options.get("at")))
    written = {point: of for point, among in runs.items() if (of := _Updates.during(among)).wrote}
    if not written:
        return Answered(claims=[], missing="no run counted updates or sizes of its tables")
    points = Points(trials, [trial for point in written for trial in runs[point]])
    shown = points.table(
        "HOT updates and growth",
        written,
        {
            "updates": lambda of: count(of.updates),
            "HOT": lambda of: or_nothing(of.hot_share, percent),
            "autovacuums": lambda of: count(of.autovacuums),
            "heap": lambda of: size(of.heap[0]) if of.heap else NOTHING,
            "heap after": lambda of: size(of.heap[1]) if of.heap else NOTHING,
            "indexes": lambda of: size(of.indexes[0]) if of.indexes else NOTHING,
            "indexes after": lambda of: size(of.indexes[1]) if of.indexes else NOTHING,
        },
        note="Counts are sums over runs; sizes are means per run, before and after it.",
    )
    claims = [_claim(points.label(point), of) for point, of in written.items() if of.updates]
    return Answered(claims=claims, shown=[shown])


def _sizes(
    among: Sequence[Trial], bytes_of: Callable[[TableFacts], float]
) -> tuple[float, float] | None:
    """Size of all tables before and after the load, means over the runs that recorded both."""
    known = [
        [sum(map(bytes_of, facts.tables)) for facts in (run.before, run.after)]
        for run in (trial.run for trial in among)
        if run.before and run.after and run.before.tables
    ]
    if not known:
        return None
    before, after = (sum(side) / len(known) for side in zip(*known, strict=True))
    return before, after


def _claim(label: str, of: _Updates) -> Claim:
    parts = (("heap", of.heap), ("indexes", of.indexes))
    changes = [f"{name} {_change(sizes)}" for name, sizes in parts if sizes and sizes[0]]
    growth = f"; {', '.join(changes)}" if changes else ""
    return Claim(
        sentence=f"{label}: {or_nothing(of.hot_share, percent)} of {count(of.updates)} updates "
        f"were HOT{growth}; autovacuum ran {count(of.autovacuums)} times.",
        is_decided=True,
        effect=of.hot_share,
        evidence={"updates": of.updates, "hot": of.hot, "autovacuums": of.autovacuums},
    )


def _change(sizes: tuple[float, float]) -> str:
    before, after = sizes
    if after == before:
        return f"unchanged at {size(before)}"
    return f"from {size(before)} to {size(after)} ({(after / before - 1) * 100:+.2g} %)"


ANSWER = Answer(
    id="hot-and-growth",
    title="HOT updates and growth of heap and index",
    options={"at": "levels of factors to select runs; default: all runs"},
    answer=answer,
)
