"""Published results beside those measured here: compared by shape, never by size.

The published host is another one, so a published number is only ever compared with other published
numbers: each column is drawn as shares of its own largest value.
"""

from collections.abc import Iterator, Mapping, Sequence

from dbdyno.answers.answer import CurveOf, CurveSeries, TableOf
from dbdyno.answers.answering import Answers
from dbdyno.formatting import THIN_SPACE
from dbdyno.model.study import Published
from dbdyno.report.charts.curves import curve_figure
from dbdyno.report.content import Block, Figure, Table, Text

_FAR_BELOW = 0.05
_NOT_A_RACE = (
    "Measured by others, with their hardware, version and settings. Only shapes can be compared: "
    "which is larger, and where a curve turns."
)


def published_blocks(published: Sequence[Published], answers: Answers) -> list[Block]:
    """Each table with its source, its authors' words, and its shape beside that measured here."""
    if not published:
        return []
    blocks: list[Block] = [Text(text=_NOT_A_RACE)]
    for number, one in enumerate(published, 1):
        blocks += _published(one, answers, f"published-{number}")
    return blocks


def _published(of: Published, answers: Answers, name: str) -> Iterator[Block]:
    measured = measured_table(of, answers)
    if measured is not None:
        yield from _shapes(of, measured, name)
    yield Text(text=f"{of.title} ({of.source}):")
    numbers = [
        sum(_number(cell) is not None for cell in cells) for cells in zip(*of.rows, strict=False)
    ]
    yield Table(
        caption="As published",
        columns=of.columns,
        rows=of.rows,
        numeric=frozenset(at for at, known in enumerate(numbers) if known > len(of.rows) / 2),
    )
    if measured is not None:
        yield Table(
            caption="The same on this host",
            columns=measured.columns,
            rows=measured.rows,
            numeric=measured.numeric,
        )
    for sentence in of.found:
        yield Text(text=f"The authors found: {sentence}", note=True)


def measured_table(of: Published, answers: Answers) -> TableOf | None:
    """The table among the answers that begins with the published one's columns."""
    for _, answer in answers:
        for shown in answer.shown:
            if isinstance(shown, TableOf) and tuple(shown.columns)[: len(of.columns)] == of.columns:
                return shown
    return None


def _shapes(of: Published, measured: TableOf, name: str) -> Iterator[Figure]:
    """A chart for each column that is numeric in both, if the first column is numeric as well."""
    for place, column in enumerate(of.columns[1:], 1):
        theirs, here = _column(of.rows, place), _column(measured.rows, place)
        shared = sorted(theirs.keys() & here.keys())
        if len(shared) < 2:
            continue
        series = [_shape("here", here, shared), _shape("published", theirs, shared)]
        lowest = min(y for one in series for y in one.y)
        largest = (max(zip(one.y, one.x, strict=True))[1] for one in reversed(series))
        yield curve_figure(
            CurveOf(
                title=f"{column}: shape",
                summary=f"Published: largest at {next(largest):g} {of.columns[0]}; here: at "
                f"{next(largest):g}.",
                x_title=of.columns[0],
                y_title="share of its own maximum, over shared points",
                series=series,
                x_axis="log",
                y_axis="log" if lowest < _FAR_BELOW else "linear",
            ),
            f"{name}-{place}",
        )


def _shape(label: str, values: Mapping[float, float], places: Sequence[float]) -> CurveSeries:
    """Shares of the largest value, at places that both have.

    Otherwise shapes would differ by how far each was measured.
    """
    largest = max(values[place] for place in places)
    return CurveSeries(label=label, x=places, y=[values[place] / largest for place in places])


def _column(rows: Sequence[Sequence[str]], place: int) -> dict[float, float]:
    """The column over the first one, without non-numeric cells."""
    pairs = [(_number(row[0]), _number(row[place])) for row in rows if len(row) > place]
    return {x: y for x, y in pairs if x is not None and y is not None and y > 0}


def _number(cell: str) -> float | None:
    """A cell's number, without thousands separators; None for text."""
    try:
        return float(cell.replace(THIN_SPACE, "").replace(" ", "").replace(",", ""))
    except ValueError:
        return None
