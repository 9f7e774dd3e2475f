"""What a response consists of over time: work and waiting, for a transaction and its statements."""

from collections.abc import Sequence

import numpy as np

from dbdyno.analysis.statistics.estimate import median
from dbdyno.analysis.waits.response_parts import Parts, ResponseParts, response_parts
from dbdyno.explain.explain import explained_record
from dbdyno.formatting import milliseconds, percent, seconds
from dbdyno.model.run import Run
from dbdyno.report.charts import resample
from dbdyno.report.charts.event_lanes import lane_text, lanes
from dbdyno.report.charts.over_time import ROWS_MAX, marks, shading_text, span_s
from dbdyno.report.content import Block, Figure, Folded, LineChart, Section, Series, Table
from dbdyno.report.sections.statements import in_one_line, statement_label

_SHARE_MIN = 0.03
_OPEN, _SHOWN_MAX = 2, 8
_NAMED = 70
_PARTS = (
    ("unseen_ms", "unseen", "--grey", "too short or too rare for session samples"),
    ("lock_ms", "lock", "--wait-lock", "waiting for a row, table or transaction lock"),
    ("other_wait_ms", "other", "--wait-lwlock", "waiting for a CPU, I/O, WAL or something else"),
    ("working_ms", "work", "--blue", "working, or in transit"),
)
"""From the top of the chart: a field of the parts, its name, colour and meaning."""


def build(run: Run) -> Sequence[Block]:
    """A transaction, then the statements with most of its time, the first of them unfolded."""
    found = response_parts(run)
    if found is None or not _lasted(found.transaction):
        return []
    of_all_ms = {number: _spent_ms(run, number) for number in found.statements}
    whole_ms = sum(of_all_ms.values()) or 1.0
    longest = sorted(of_all_ms, key=lambda number: -of_all_ms[number])[:_SHOWN_MAX]
    names = explained_record(run).statements
    figures = [
        _figure(
            run,
            found,
            found.statements[number],
            name=f"response-parts-{number}",
            what=f"“{in_one_line(statement_label(names[number], names).rstrip(';'), _NAMED)}”",
        )
        for number in longest
        if number < len(names) and of_all_ms[number] / whole_ms >= _SHARE_MIN
    ]
    top = _figure(run, found, found.transaction, name="response-parts-chart", what="A transaction")
    rest = figures[_OPEN:]
    folded = [Folded(title=f"{len(rest)} more by statement", blocks=rest)] if rest else []
    return [top, *figures[:_OPEN], *folded]


def _lasted(parts: Parts) -> bool:
    return bool(np.nansum(parts.mean_ms - parts.unseen_ms) > 0)


def _spent_ms(run: Run, number: int) -> float:
    record = explained_record(run).statements[number : number + 1]
    return sum((one.mean_ms or 0.0) * (one.count or 0) for one in record)


def _figure(run: Run, found: ResponseParts, parts: Parts, *, name: str, what: str) -> Figure:
    """The whole is higher than a statement's."""
    shown = [
        (title, colour, meaning, values)
        for field, title, colour, meaning in _PARTS
        if np.nansum(values := getattr(parts, field)) > 0
    ]
    begin_s, end_s = span_s(run)
    is_whole = parts is found.transaction
    key = [(colour, f"{title}: {meaning}") for title, colour, meaning, _ in shown]
    means = f"each point is the mean of {seconds(median(found.seconds))}"
    return Figure(
        id=name,
        caption="Mean time that a client waits for all statements of a transaction, split as its "
        f"session samples are; {means}{shading_text(run)}{lane_text(run)}."
        if is_whole
        else f"One execution; {means}.",
        summary=_summary(found, parts, what),
        table=_table(found, parts, what, [(title, values) for title, *_, values in shown]),
        key=key if is_whole else (),
        chart=LineChart(
            x=[round(at, 3) for at in (found.begin_s + found.seconds / 2).tolist()],
            begin_s=begin_s,
            end_s=end_s,
            series=[
                Series(title, colour, resample.json_numbers(values))
                for title, colour, _, values in shown
            ],
            scale="linear",
            unit="ms",
            stacked=True,
            height=200 if is_whole else 130,
            marks=marks(run),
            lanes=lanes(run),
        ),
    )


def _summary(found: ResponseParts, parts: Parts, what: str) -> str:
    """What it consists of on average, and when it took longest."""
    is_measured = (found.begin_s >= 0) & (np.nan_to_num(parts.mean_ms) > 0)
    if not is_measured.any():
        return f"{what} was not executed in the measured part."
    mean_ms = parts.mean_ms[is_measured]
    of_it = sorted(
        (
            (float(getattr(parts, field)[is_measured].sum() / mean_ms.sum()), title)
            for field, title, *_ in _PARTS
        ),
        reverse=True,
    )
    split = ", ".join(f"{title} {percent(share)}" for share, title in of_it if share >= 0.001)
    text = f"{what} takes {milliseconds(float(mean_ms.mean()))} on average: {split}."
    if len(mean_ms) == 1:
        return text
    longest_s = float(found.begin_s[is_measured][mean_ms.argmax()])
    return f"{text} Longest at {seconds(longest_s)}: {milliseconds(float(mean_ms.max()))}."


def _table(
    found: ResponseParts,
    parts: Parts,
    what: str,
    shown: Sequence[tuple[str, resample.Values]],
) -> Table:
    columns = [parts.mean_ms, *(values for _, values in shown)]
    step = max(1, -(-len(found.begin_s) // ROWS_MAX))
    return Table(
        caption=f"{what}: parts of the mean over time",
        columns=("Time", "Mean", *(title for title, _ in shown)),
        rows=[
            (seconds(found.begin_s[at]), *(milliseconds(column[at]) for column in columns))
            for at in range(0, len(found.begin_s), step)
        ],
        numeric=frozenset(range(len(shown) + 2)),
    )


SECTION = Section(id="response-parts", title="Response time by part", build=build)
