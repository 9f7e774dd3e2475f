"""Where a transaction's time goes: each statement's mean, p95 and p99 on one common scale.

If the server's sessions were sampled, the mean is split into work and waiting.
"""

from collections.abc import Iterator, Sequence
from functools import partial

from msgspec import Struct

from dbdyno.analysis.waits.lock_queue import StatementTime, lock_queue
from dbdyno.explain.explain import explained_record
from dbdyno.formatting import NOTHING, count, milliseconds, percent, significant
from dbdyno.layout import printable, shortened
from dbdyno.model.record import RunRecord, StatementRecord
from dbdyno.model.run import Run
from dbdyno.report.charts.plot import at_each_width
from dbdyno.report.charts.statement_bars import StatementBar, draw_statement_bars
from dbdyno.report.content import Block, Figure, Items, Section, Table


class Row(Struct, frozen=True, kw_only=True):
    """A statement that ran, and its split if session samples show it."""

    record: StatementRecord
    label: str
    share: float
    """Of the time of all statements."""
    split: StatementTime | None
    whole_style: str
    """Style of a bar without parts."""

    @property
    def share_without_rows(self) -> float | None:
        """Of its executions, where they were counted."""
        without, executions = self.record.executions_without_rows, self.record.count
        return without / executions if executions and without is not None else None

    @property
    def split_cells(self) -> list[str]:
        """The parts of its mean in a table."""
        parts = self.parts if self.split else [("", None)] * len(_STYLES)
        return [milliseconds(part_ms) for _, part_ms in parts]

    @property
    def parts(self) -> list[tuple[str, float]]:
        """Its mean as the parts of its bar, from the left: styles and milliseconds."""
        split = self.split
        if split is None:
            return [(self.whole_style, self.record.mean_ms or 0)]
        parts_ms = (split.working_ms, split.other_wait_ms, split.lock_ms)
        return list(zip(_STYLES, parts_ms, strict=True))


_STYLES = ("bar", "bar waiting", "bar locked")
_KEY = (
    ("--blue", "working, or in transit"),
    ("--wait-lwlock", "waiting for something else, such as a CPU"),
    ("--wait-lock", "waiting for a lock"),
)
_NAMED = 60
"""Characters of a statement that is named in a sentence."""
_UNSEEN_KEY = ("--grey", "too short to be sampled")


def build(run: Run) -> Sequence[Block]:
    """Bars in the order of the scripts, so that a transaction reads from top to bottom."""
    rows = _rows(run)
    if not rows:
        return []
    key = _KEY if any(row.split for row in rows) else ()
    bars = [
        StatementBar(
            label=row.label,
            mean_ms=row.record.mean_ms or 0,
            p95_ms=row.record.p95_ms or 0,
            p99_ms=row.record.p99_ms or 0,
            parts=row.parts,
        )
        for row in rows
    ]
    return [
        Figure(
            id="statement-bars",
            axes=("time that the client waits for one execution", ""),
            caption="Time that the client waits for each statement. Bar and number: mean. "
            "Dot: p95. End of the line: p99.",
            summary=_summary(rows),
            key=(*key, _UNSEEN_KEY) if key and not all(row.split for row in rows) else key,
            table=_table(rows),
            svg=at_each_width(partial(draw_statement_bars, bars)),
        ),
        *_sent_as_text([row.record for row in rows]),
    ]


def _sent_as_text(statements: Sequence[StatementRecord]) -> Sequence[Table]:
    """The statements whose values are parts of their text, if the others have parameters."""
    rows = [(statement_label(one, statements), one.as_text) for one in statements if one.as_text]
    table = Table(
        caption="Sent as text, with the values in it",
        columns=("Statement", "Why"),
        rows=rows,
        code=frozenset({0}),
    )
    return [table] if rows else []


def summary(record: RunRecord) -> Sequence[Block]:
    """Numbers first: a statement has the rest of its line."""
    statements = record.statements
    if not any(one.count or one.mean_ms for one in statements):
        # Killed before the first histograms were written.
        return _sent_as_text_in_short(statements)
    # A statement that failed was answered, too: its time counts in the transaction only.
    counts_rows = any(one.rows is not None for one in statements)
    columns = ("ok", *(("rows",) * counts_rows), "mean", "p50", "p95", "p99", "statement")
    table = Table(
        columns=columns,
        rows=[
            (
                count_text(one),
                *((rows_each(one),) * counts_rows),
                *map(milliseconds, _times_ms(one)),
                statement_label(one, statements),
            )
            for one in statements
        ],
        numeric=frozenset(range(len(columns) - 1)),
        is_cut=True,
    )
    return [table, *_sent_as_text_in_short(statements)]


def _sent_as_text_in_short(statements: Sequence[StatementRecord]) -> Sequence[Items]:
    labels = [(statement_label(one, statements), one.as_text) for one in statements if one.as_text]
    sentences = [f"{shortened(printable(label), _NAMED)}: {why}" for label, why in labels]
    title = "These statements are sent as text, with the values in it:"
    return [Items(title=title, sentences=sentences)] if sentences else []


def _rows(run: Run) -> list[Row]:
    """The statements that ran; a statement's position in the record is the number in its split."""
    queue = lock_queue(run)
    splits = {one.statement: one for one in queue.statements} if queue else {}
    whole = "bar unseen" if splits else "bar"
    ran = {
        number: record
        for number, record in enumerate(explained_record(run).statements)
        if record.mean_ms is not None
    }
    # Where a text does not say how often each was executed, each belongs to a transaction.
    total_ms = {
        number: (one.mean_ms or 0) * (1 if one.count is None else one.count)
        for number, one in ran.items()
    }
    return [
        Row(
            record=record,
            label=statement_label(record, list(ran.values())),
            share=total_ms[number] / (sum(total_ms.values()) or 1),
            split=splits.get(number),
            whole_style=whole,
        )
        for number, record in ran.items()
    ]


def _summary(rows: Sequence[Row]) -> str:
    most = max(rows, key=lambda row: row.share)
    record = most.record
    lock_ms = most.split.lock_ms if most.split else 0
    waiting = f", {milliseconds(lock_ms)} of it waiting for locks" if lock_ms else ""
    return (
        f"The largest share of statement time, {percent(most.share)}, goes to "
        f"“{in_one_line(record.sql.rstrip(';'), 70)}”: {milliseconds(record.mean_ms)} on average"
        f"{waiting}, p99 {milliseconds(record.p99_ms)}."
    )


def _table(rows: Sequence[Row]) -> Table:
    is_split = any(row.split for row in rows)
    columns = ["Statement", "Count", "Rows each", "Without rows"]
    columns += ["Share of time", "Mean", "p50", "p95", "p99"]
    if is_split:
        columns += ["Working", "Other waits", "Lock wait"]
    return Table(
        caption="Statements",
        columns=columns,
        rows=[
            (
                row.label,
                count_text(row.record),
                rows_each(row.record),
                NOTHING if (share := row.share_without_rows) is None else percent(share),
                percent(row.share),
                *map(milliseconds, _times_ms(row.record)),
                *(row.split_cells if is_split else ()),
            )
            for row in rows
        ],
        numeric=frozenset(range(1, len(columns))),
        code=frozenset({0}),
    )


def statement_label(one: StatementRecord, among: Sequence[StatementRecord]) -> str:
    """Its text, after its script, connection and server where these tell statements apart."""
    return ": ".join([*_origin(one, among), one.sql])


def _origin(one: StatementRecord, among: Sequence[StatementRecord]) -> Iterator[str]:
    if len({other.script for other in among}) > 1:
        yield one.script
    places = []
    if len({other.connection for other in among}) > 1:
        places.append(f"connection {one.connection}")
    if len({other.server for other in among}) > 1:
        places.append(f"server {one.server}")
    if places:
        yield ", ".join(places)


def _times_ms(one: StatementRecord) -> tuple[float | None, ...]:
    return one.mean_ms, one.p50_ms, one.p95_ms, one.p99_ms


def count_text(one: StatementRecord) -> str:
    """How many latencies were measured, if that is known."""
    return NOTHING if one.count is None else count(one.count)


def rows_each(one: StatementRecord) -> str:
    """The rows that an execution of the statement touched on average."""
    if one.rows is None or not one.count:
        return NOTHING
    return significant(one.rows / one.count)


def in_one_line(sql: str, length: int) -> str:
    """One line of at most this many characters."""
    return shortened(" ".join(sql.split()), length)


SECTION = Section(id="statements", title="Statements", build=build, summary=summary)
