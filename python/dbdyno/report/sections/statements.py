"""Where a transaction's time goes: each statement's mean, p95 and p99 on one common scale."""

from collections.abc import Sequence

from markupsafe import Markup

from dbdyno.model.record import StatementRecord
from dbdyno.report.content import Block, Figure, Section, Subject, Table
from dbdyno.report.scales import Scale, linear_ticks
from dbdyno.report.svg import Drawing
from dbdyno.report.words import count, milliseconds, percent

_ROW, _TOP, _BOTTOM, _RIGHT = 40, 6, 40, 76
_CHARACTER = 7.3  # width of a character of the code face at 12 px


def build(subject: Subject) -> Sequence[Block]:
    """Bars in the order of the scripts, so that a transaction reads from top to bottom."""
    statements = [one for one in subject.record.statements if one.mean_ms is not None]
    if not statements:
        return []
    return [
        Figure(
            id="statement-bars",
            caption="Time of each statement as the client waits for it. Bar: mean. "
            "Dot: p95. End of the line: p99.",
            summary=_summary(statements),
            table=_table(statements),
            svg=(_draw(statements, 920), _draw(statements, 340)),
        )
    ]


def _total_ms(statement: StatementRecord) -> float:
    return (statement.mean_ms or 0) * statement.count


def _share(statement: StatementRecord, statements: list[StatementRecord]) -> float:
    return _total_ms(statement) / (sum(map(_total_ms, statements)) or 1)


def _summary(statements: list[StatementRecord]) -> str:
    most = max(statements, key=_total_ms)
    return (
        f"Most of the time, {percent(_share(most, statements))}, goes to "
        f"“{shortened(most.sql.rstrip(';'), 70)}”: {milliseconds(most.mean_ms)} on average, "
        f"p99 {milliseconds(most.p99_ms)}."
    )


def _table(statements: list[StatementRecord]) -> Table:
    several = len({one.script for one in statements}) > 1
    rows = [
        (
            f"{one.script}: {one.sql}" if several else one.sql,
            count(one.count),
            percent(_share(one, statements)),
            *(milliseconds(ms) for ms in (one.mean_ms, one.p50_ms, one.p95_ms, one.p99_ms)),
        )
        for one in statements
    ]
    return Table(
        caption="Statements",
        columns=("Statement", "Count", "Share of time", "Mean", "p50", "p95", "p99"),
        rows=rows,
        numeric=frozenset(range(1, 7)),
        code=frozenset({0}),
    )


def shortened(text: str, length: int) -> str:
    """One line of at most so many characters."""
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1] + "…"


def _draw(statements: list[StatementRecord], width: int) -> Markup:
    bottom = _TOP + _ROW * len(statements)
    drawing = Drawing(width, bottom + _BOTTOM - 16)
    longest = max(max(one.p99_ms or 0, one.mean_ms or 0) for one in statements)
    across = Scale(0, longest or 1, 0.5, width - _RIGHT)
    for tick in linear_ticks(longest, 6 if width > 500 else 3):
        drawing.line(across(tick), _TOP, across(tick), bottom, "rule")
        drawing.text(across(tick), bottom + 16, milliseconds(tick), "middle" if tick else "start")
    for place, one in enumerate(statements):
        _draw_row(drawing, one, across, _TOP + place * _ROW, width)
    return drawing.markup()


def _draw_row(
    drawing: Drawing, one: StatementRecord, across: Scale, top: float, width: int
) -> None:
    mean, p95, p99 = (across(ms or 0) for ms in (one.mean_ms, one.p95_ms, one.p99_ms))
    middle = top + 26
    drawing.text(0, top + 13, shortened(one.sql, int(width / _CHARACTER)), "start", "code")
    drawing.line(across(0), middle, p99, middle, "whisker")
    drawing.line(p99, middle - 4, p99, middle + 4, "whisker")
    drawing.rectangle(across(0), middle - 6, mean - across(0), 12, "bar")
    drawing.dot(p95, middle, 3, "whisker-dot")
    drawing.text(max(p99, mean) + 8, middle + 4, milliseconds(one.mean_ms), "start", "value")


SECTION = Section(id="statements", title="Statements", order=50, build=build)
