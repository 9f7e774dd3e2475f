"""Histories as a page: for each kind of run its changes as text, and each metric as a chart."""

from collections.abc import Iterator, Sequence

from dbdyno.analysis.compare.history import RUNS_MIN, MetricHistory, RunSeries
from dbdyno.analysis.compare.verdicts import change
from dbdyno.answers.answer import CurveOf, CurveSeries
from dbdyno.explain.sentences import capitalized
from dbdyno.report.charts.curves import curve_figure
from dbdyno.report.content import Block, Page, PageSection, Sentence
from dbdyno.report.pages.answering_page import answering_page
from dbdyno.report.pages.history import (
    change_text,
    evidence,
    period_text,
    state_text,
    suspected_text,
)

FOOTER = (
    "Runs are in chronological order. A level is the geometric mean of the runs between two "
    "changes; a change stands out from the noise of the runs around it."
)


def history_page(series: Sequence[RunSeries]) -> Page:
    """The whole page."""
    runs = sum(len(one.runs) for one in series)
    suspected = sum(found.suspected is not None for one in series for found in one.metrics)
    is_decided = bool(series) and not suspected
    return answering_page(
        name="history",
        title="Runs over time",
        question="When did results of comparable runs change, and what changed with them?",
        when=f"{runs} runs in {len(series)} series",
        verdict=_verdict(series, suspected),
        status="Decided by the runs" if is_decided else "Not decided by the runs",
        is_decided=is_decided,
        doubts=["A level needs two runs: a change in the latest run alone is only suspected."],
        sections=[
            PageSection(id=f"series-{number}", title=one.kind.text, blocks=_blocks(one, number))
            for number, one in enumerate(series, 1)
        ],
        footer=FOOTER,
    )


def _verdict(series: Sequence[RunSeries], suspected: int) -> str:
    """The number of changes; without comparable runs, that there are too few."""
    if not series:
        return f"Too few runs for a history: {RUNS_MIN} comparable ones are needed."
    changes = sum(len(found.changes) for one in series for found in one.metrics)
    certain = f"{changes or 'No'} {'change' if changes == 1 else 'changes'}"
    if not suspected:
        return f"{certain}."
    return f"{certain} for certain; {suspected} suspected, for which the runs are too few."


def _blocks(series: RunSeries, number: int) -> list[Block]:
    return [*_sentences(series), *_figures(series, number)]


def _sentences(series: RunSeries) -> Iterator[Block]:
    for found in series.metrics:
        for one in found.changes:
            text = f"{found.metric.title}, {change_text(series, found, one)}."
            doubt = " ".join(capitalized(line) for line in evidence(series, one))
            yield Sentence(text=text, is_decided=True, doubt=doubt)
        if found.suspected:
            text = f"{found.metric.title}, {suspected_text(series, found, found.suspected)}."
            differs = series.differs(found.suspected.index)
            doubt = " ".join(capitalized(line) for line in differs)
            yield Sentence(text=text, is_decided=False, doubt=doubt)


def _figures(series: RunSeries, number: int) -> Iterator[Block]:
    for found in series.metrics:
        yield curve_figure(_curve(series, found), f"series-{number}-{found.metric.id}")


def _curve(series: RunSeries, found: MetricHistory) -> CurveOf:
    known = [(place, value) for place, value in enumerate(found.values, 1) if value is not None]
    return CurveOf(
        title=found.metric.title,
        summary=f"{capitalized(state_text(found))} {period_text(series)}.",
        x_title="run",
        y_title=found.metric.unit or "per transaction",
        series=[
            CurveSeries(
                label="measured",  # the same in all charts, whose runs so stay below each other
                x=[float(place) for place, _ in known],
                y=[value for _, value in known],
            ),
            *_levels(found),
        ],
        marks=[(one.index + 0.5, change(one.ratio)) for one in found.changes],
    )


def _levels(found: MetricHistory) -> list[CurveSeries]:
    """The levels as one line with steps; empty if nothing changed."""
    if not found.changes:
        return []
    ends = [0.5, *(one.index + 0.5 for one in found.changes), len(found.values) + 0.5]
    levels = [found.changes[0].before, *(one.after for one in found.changes)]
    steps = [
        (x, level)
        for level, begin, end in zip(levels, ends, ends[1:], strict=False)
        for x in (begin, end)
    ]
    return [
        CurveSeries(label="level", x=[x for x, _ in steps], y=[y for _, y in steps], fitted=True)
    ]
