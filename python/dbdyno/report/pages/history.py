"""Runs of one kind over time as a page: for each kind its changes, and each metric as a chart.

And as plain data. ``analysis/compare/history.py`` finds the changes of level.
"""

from collections.abc import Iterator, Sequence
from statistics import geometric_mean
from typing import Any

from msgspec.structs import asdict

from dbdyno.analysis.compare.history import Change, MetricHistory
from dbdyno.analysis.compare.profile_differences import changed_texts
from dbdyno.analysis.compare.run_series import RUNS_MIN, RunSeries
from dbdyno.analysis.compare.verdicts import change
from dbdyno.answers.answer import CurveOf, CurveSeries
from dbdyno.explain.sentences import capitalized
from dbdyno.report.charts.curves import curve_figure
from dbdyno.report.content import (
    Block,
    HeadLine,
    Page,
    PageSection,
    Sentence,
    Text,
    Verdict,
)
from dbdyno.report.costs import amount_text

_QUESTION = "When did results of comparable runs change, and what changed with them?"
_DOUBT = "A level needs two runs: a change in the latest run alone is only suspected."
_FOOTER = (
    "Runs are in chronological order. A level is the geometric mean of the runs between two "
    "changes; a change stands out from the noise of the runs around it."
)


def history_page(series: Sequence[RunSeries]) -> Page:
    """The whole page."""
    runs = sum(len(one.runs) for one in series)
    suspected = sum(found.suspected is not None for one in series for found in one.metrics)
    is_decided = bool(series) and not suspected
    changes = sum(len(found.changes) for one in series for found in one.metrics)
    verdict = f"{changes or 'No'} {'change' if changes == 1 else 'changes'}"
    if not series:
        verdict = f"Too few runs for a history: {RUNS_MIN} comparable ones are needed."
    elif suspected:
        verdict += f" for certain; {suspected} suspected, for which the runs are too few."
    else:
        verdict += "."
    return Page(
        name="history",
        title="Runs over time",
        head=[
            HeadLine(text=_QUESTION, style="question"),
            HeadLine(text=f"{runs} runs in {len(series)} series"),
        ],
        top=[
            Verdict(
                status="Decided by the runs" if is_decided else "Not decided by the runs",
                text=verdict,
                is_good=is_decided,
                doubts=[_DOUBT],
            )
        ],
        sections=[
            PageSection(id=f"series-{number}", title=one.kind.text, blocks=[*_blocks(one, number)])
            for number, one in enumerate(series, 1)
        ],
        footer=_FOOTER,
    )


def _blocks(series: RunSeries, number: int) -> Iterator[Block]:
    first, last = (run.record.started_at[:10] for run in (series.runs[0], series.runs[-1]))
    yield Text(text=f"{len(series.runs)} runs, {first} to {last}.")
    for found in series.metrics:
        for one in found.changes:
            text = f"{found.metric.title}, {_change_text(series, found, one)}."
            doubt = " ".join(capitalized(line) for line in _evidence(series, one))
            yield Sentence(text=text, is_decided=True, doubt=doubt)
        if found.suspected:
            before, after = found.suspected.before, found.suspected.after
            levels = f"{_value_text(found, before)} to {_value_text(found, after)}"
            run_id = series.runs[found.suspected.index].record.run_id
            text = (
                f"{found.metric.title}, perhaps {levels}, from run {run_id} on: too few runs to be "
                "sure; run again to tell."
            )
            differs = series.differs(found.suspected.index)
            doubt = " ".join(capitalized(line) for line in differs)
            yield Sentence(text=text, is_decided=False, doubt=doubt)
    for found in series.metrics:
        yield curve_figure(_curve(found), f"series-{number}-{found.metric.id}")


def _curve(found: MetricHistory) -> CurveOf:
    known = [(place, value) for place, value in enumerate(found.values, 1) if value is not None]
    return CurveOf(
        title=found.metric.title,
        summary=capitalized(_state_text(found)),
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


def _state_text(found: MetricHistory) -> str:
    """A metric's latest value, its value just before, and how often its level changed."""
    when = "the latest run" if found.values[-1] is not None else "the latest run that has it"
    number = len(found.changes)
    changes = {0: "no change", 1: "1 change"}.get(number, f"{number} changes")
    now = f"{_value_text(found, found.latest)} in {when}"
    perhaps = ", and perhaps one more" if found.suspected and number else ""
    if found.suspected and not number:
        changes = "perhaps a change"
    # A level takes two runs, so only the values before show that the latest one differs.
    earlier = ""
    if before := found.before_latest:
        runs = "one" if len(before) == 1 else str(len(before))
        earlier = f"{_value_text(found, geometric_mean(before))} in the {runs} before it, "
    return f"{now}, {earlier}{changes} of level{perhaps}"


def _value_text(found: MetricHistory, value: float) -> str:
    """A value of this metric, as text."""
    return amount_text(value, found.metric.unit.removesuffix("per transaction").strip())


def _change_text(series: RunSeries, found: MetricHistory, one: Change) -> str:
    """When, by how much, from what to what, and whether for better or worse."""
    run = series.runs[one.index].record
    rose = one.ratio > 1
    judged = "better" if rose == (found.metric.better == "higher") else "worse"
    levels = f"{_value_text(found, one.before)} to {_value_text(found, one.after)}"
    when = run.started_at[:16].replace("T", " ")
    return f"{when}  {change(one.ratio)}, {judged}: {levels}, from run {run.run_id} on"


def _evidence(series: RunSeries, one: Change) -> Iterator[str]:
    """What changed with it: costs per transaction, and what differs from that run on."""
    if one.moved:
        moved = ", ".join(f"{cost.title} {change(cost.ratio)}" for cost in one.moved)
        yield f"costs per transaction: {moved}"
    else:
        yield "no other cost per transaction changed with it"
    if parts := changed_texts(one.server_subsystems, one.server_functions):
        yield f"server CPU per transaction: {'; '.join(parts)}"
    differs = series.differs(one.index)
    yield from differs or ["no recorded difference from the previous run"]


def history_object(series: Sequence[RunSeries]) -> dict[str, Any]:
    """The object of ``--json``."""
    return {
        "series": [
            {
                **asdict(one.kind),
                "runs": [
                    {"run_id": run.record.run_id, "started_at": run.record.started_at}
                    for run in one.runs
                ],
                "metrics": [_metric_object(one, found) for found in one.metrics],
            }
            for one in series
        ]
    }


def _metric_object(series: RunSeries, found: MetricHistory) -> dict[str, Any]:
    changes = [
        {
            **asdict(one),
            "run_id": series.runs[one.index].record.run_id,
            "started_at": series.runs[one.index].record.started_at,
            "differs": series.differs(one.index),
        }
        for one in found.changes
    ]
    suspected = found.suspected and {
        **asdict(found.suspected),
        "run_id": series.runs[found.suspected.index].record.run_id,
    }
    return {
        **asdict(found.metric),
        "values": found.values,
        "changes": changes,
        "suspected": suspected,
    }
