"""Where a transaction's time goes: each statement's mean, p95 and p99 on one common scale.

If the server's sessions were sampled, the mean is split into work and waiting.
"""

from collections.abc import Iterator, Sequence
from functools import partial

from markupsafe import Markup
from msgspec import Struct

from dbdyno.analysis.lock_queue import StatementTime
from dbdyno.formatting import NOTHING, count, milliseconds, percent, significant
from dbdyno.model.record import StatementRecord
from dbdyno.report.content import Block, Figure, Section, Subject, Table
from dbdyno.report.plot import at_each_width
from dbdyno.report.scales import Scale, linear_ticks
from dbdyno.report.svg import Drawing

_ROW, _TOP, _BOTTOM, _RIGHT = 40, 6, 40, 76
_CHARACTER = 7.3  # width of a character of the code face at 12 px


class Row(Struct, frozen=True):
    """A statement that ran, and its split if session samples show it."""

    record: StatementRecord
    split: StatementTime | None
    whole_style: str
    """Style of a bar without parts."""

    @property
    def total_ms(self) -> float:
        """Total time over all transactions."""
        return (self.record.mean_ms or 0) * self.record.count

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
_UNSEEN_KEY = ("--grey", "too short to be sampled")


def build(subject: Subject) -> Sequence[Block]:
    """Bars in the order of the scripts, so that a transaction reads from top to bottom."""
    rows = _rows(subject)
    if not rows:
        return []
    return [
        Figure(
            id="statement-bars",
            caption="Time that the client waits for each statement. Bar and number: mean. "
            "Dot: p95. End of the line: p99.",
            summary=_summary(rows),
            key=_key(rows),
            table=_table(rows),
            svg=at_each_width(partial(_draw, rows)),
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


def _key(rows: Sequence[Row]) -> Sequence[tuple[str, str]]:
    """Empty if no bar has parts."""
    if not any(row.split for row in rows):
        return ()
    return _KEY if all(row.split for row in rows) else (*_KEY, _UNSEEN_KEY)


def _rows(subject: Subject) -> list[Row]:
    """The statements that ran; a statement's position in the record is the number in its split."""
    queue = subject.lock_queue
    splits = {one.statement: one for one in queue.statements} if queue else {}
    whole = "bar unseen" if splits else "bar"
    return [
        Row(record, splits.get(number), whole)
        for number, record in enumerate(subject.record.statements)
        if record.mean_ms is not None
    ]


def _share(row: Row, rows: Sequence[Row]) -> float:
    return row.total_ms / (sum(one.total_ms for one in rows) or 1)


def _summary(rows: Sequence[Row]) -> str:
    most = max(rows, key=lambda row: row.total_ms)
    record = most.record
    lock_ms = most.split.lock_ms if most.split else 0
    waiting = f", {milliseconds(lock_ms)} of it waiting for locks" if lock_ms else ""
    return (
        f"The largest share of statement time, {percent(_share(most, rows))}, goes to "
        f"“{shortened(record.sql.rstrip(';'), 70)}”: {milliseconds(record.mean_ms)} on average"
        f"{waiting}, p99 {milliseconds(record.p99_ms)}."
    )


def _table(rows: Sequence[Row]) -> Table:
    is_split = any(row.split for row in rows)
    records = [row.record for row in rows]
    columns = ["Statement", "Count", "Rows each", "Without rows"]
    columns += ["Share of time", "Mean", "p50", "p95", "p99"]
    if is_split:
        columns += ["Working", "Other waits", "Lock wait"]
    return Table(
        caption="Statements",
        columns=columns,
        rows=[
            (
                statement_label(row.record, records),
                *_cells(row.record, _share(row, rows)),
                *(_split_cells(row) * is_split),
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


def _cells(one: StatementRecord, share: float) -> tuple[str, ...]:
    return (
        count(one.count),
        rows_each(one),
        _without_rows(one),
        percent(share),
        *(milliseconds(ms) for ms in (one.mean_ms, one.p50_ms, one.p95_ms, one.p99_ms)),
    )


def rows_each(one: StatementRecord) -> str:
    """The rows that an execution of the statement touched on average."""
    if one.rows is None or not one.count:
        return NOTHING
    return significant(one.rows / one.count)


def _without_rows(one: StatementRecord) -> str:
    if one.executions_without_rows is None or not one.count:
        return NOTHING
    return percent(one.executions_without_rows / one.count)


def _split_cells(row: Row) -> tuple[str, ...]:
    if row.split is None:
        return (NOTHING,) * len(_STYLES)
    return tuple(milliseconds(part_ms) for _, part_ms in row.parts)


def shortened(text: str, length: int) -> str:
    """One line of at most this many characters."""
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1] + "…"


def _draw(rows: Sequence[Row], width: int) -> Markup:
    bottom = _TOP + _ROW * len(rows)
    drawing = Drawing(width, bottom + _BOTTOM - 16)
    longest = max(max(row.record.p99_ms or 0, row.record.mean_ms or 0) for row in rows)
    across = Scale(0, longest or 1, 0.5, width - _RIGHT)
    for tick in linear_ticks(longest, 6 if width > 500 else 3):
        drawing.line(across(tick), _TOP, across(tick), bottom, "rule")
        drawing.text(across(tick), bottom + 16, milliseconds(tick), "middle" if tick else "start")
    for place, row in enumerate(rows):
        name = statement_label(row.record, [other.record for other in rows])
        _draw_row(drawing, row, name, across, _TOP + place * _ROW)
    return drawing.markup()


def _draw_row(drawing: Drawing, row: Row, name: str, across: Scale, top: float) -> None:
    one = row.record
    mean, p95, p99 = (across(ms or 0) for ms in (one.mean_ms, one.p95_ms, one.p99_ms))
    middle = top + 26
    room = int(drawing.width / _CHARACTER)
    drawing.text(0, top + 13, shortened(name, room), "start", "code", title=name)
    drawing.line(across(0), middle, p99, middle, "whisker")
    drawing.line(p99, middle - 4, p99, middle + 4, "whisker")
    _draw_bar(drawing, row, across, middle - 6)
    drawing.dot(p95, middle, 3, "whisker-dot")
    drawing.text(max(p99, mean) + 8, middle + 4, milliseconds(one.mean_ms), "start", "value")


def _draw_bar(drawing: Drawing, row: Row, across: Scale, top: float) -> None:
    begin_ms = 0.0
    for style, part_ms in row.parts:
        left = across(begin_ms)
        begin_ms += part_ms
        drawing.rectangle(left, top, across(begin_ms) - left, 12, style)


SECTION = Section(id="statements", title="Statements", order=50, build=build)
