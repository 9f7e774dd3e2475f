"""What a lookup by key touches: index pages (the depth of the index), table pages, cache misses.

The server counts them over the measurement, so no extension is needed: index pages per index scan
are the levels from root to leaf. Pages that came from the operating system's cache count as read
here, because the server cannot tell them apart.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from dbdyno.answers.answer import (
    Answer,
    Answered,
    Claim,
    CurveOf,
    CurveSeries,
    Trial,
    Trials,
)
from dbdyno.answers.grouping import by_level, chosen, title_of
from dbdyno.answers.measuring import counted
from dbdyno.answers.table_size import rows_text
from dbdyno.answers.tables import table
from dbdyno.formatting import percent, significant, size
from dbdyno.model.counters import PgIoUserTables, PgUserTables

_HITS = (PgIoUserTables.idx_blks_hit, PgIoUserTables.heap_blks_hit)
_READS = (PgIoUserTables.idx_blks_read, PgIoUserTables.heap_blks_read)
A_LEVEL = 0.5
"""Half a page more per lookup is at least the begin of another level."""


class _Lookup(Struct, frozen=True):
    """Pages of one lookup, and the share found in the server's own cache."""

    rows: float
    index_pages: float
    table_pages: float
    hit_share: float
    data_bytes: float

    @classmethod
    def of(cls, rows: float, among: Sequence[Trial]) -> "_Lookup | None":
        """Sums over the runs of one size; None if nothing was looked up."""
        scans = counted(among, PgUserTables.idx_scan)
        if not scans:
            return None
        hits = [counted(among, counter) for counter in _HITS]
        reads = [counted(among, counter) for counter in _READS]
        facts = among[0].run.before
        return cls(
            rows=rows,
            index_pages=(hits[0] + reads[0]) / scans,
            table_pages=(hits[1] + reads[1]) / scans,
            hit_share=sum(hits) / max(sum(hits) + sum(reads), 1.0),
            data_bytes=sum(
                table.bytes + sum(index.bytes for index in table.indexes)
                for table in (facts.tables if facts else ())
            ),
        )

    @property
    def pages(self) -> float:
        return self.index_pages + self.table_pages


def answer(trials: Trials, options: Mapping[str, Any]) -> Answered:
    """A row for each size, and how the depth grew."""
    over = str(options["over"])
    levels = by_level(trials, chosen(trials, options.get("at")), over)
    found = [
        one
        for level, among in levels.items()
        if (one := _Lookup.of(float(level), among)) is not None
    ]
    if not found:
        return Answered(claims=[], missing="no run counted its server's page accesses by table")
    shown = table(
        "Pages of one lookup",
        found,
        {
            "rows": lambda one: rows_text(one.rows),
            "table and index": lambda one: size(one.data_bytes),
            "index pages (depth)": lambda one: significant(one.index_pages),
            "table pages": lambda one: significant(one.table_pages),
            "total": lambda one: significant(one.pages),
            "cache hit ratio": lambda one: percent(one.hit_share),
        },
        note="Pages that are not in the server's cache may still be in the operating system's.",
    )
    rows = [one.rows for one in found]
    curve = CurveOf(
        title="Pages of one lookup",
        summary=f"From {significant(found[0].pages)} to {significant(found[-1].pages)} pages.",
        x_title=title_of(trials, over),
        y_title="pages",
        series=[
            CurveSeries(label="index", x=rows, y=[one.index_pages for one in found]),
            CurveSeries(label="total", x=rows, y=[one.pages for one in found]),
        ],
        x_axis="log",
    )
    return Answered(claims=[_claim(found)], shown=[shown, curve])


def _claim(found: Sequence[_Lookup]) -> Claim:
    first, last = found[0], found[-1]
    grown = last.index_pages - first.index_pages
    deeper = (
        f"the index is {round(grown) or 1} {'level' if grown < 1.5 else 'levels'} deeper"
        if grown > A_LEVEL
        else "the index is equally deep"
    )
    return Claim(
        sentence=f"A lookup touches {significant(first.pages)} pages at {rows_text(first.rows)} "
        f"rows ({significant(first.index_pages)} of the index) and {significant(last.pages)} at "
        f"{rows_text(last.rows)} ({significant(last.index_pages)}): {deeper}; "
        f"{percent(last.hit_share)} of the latter were in the server's cache.",
        is_decided=True,
        effect=last.pages / first.pages,
        evidence={"index_pages": [one.index_pages for one in found]},
    )


ANSWER = Answer(
    id="lookup-cost",
    title="Pages touched by a lookup",
    options={"over": "the factor of rows", "at": "levels of other factors: those of a lookup"},
    answer=answer,
)
