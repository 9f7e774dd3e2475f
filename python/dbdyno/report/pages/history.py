"""Runs of one kind over time: each change with when, by how much, and what changed with it.

As text for a terminal and as plain data. ``analysis/compare/history.py`` finds the changes of
level.
"""

from collections.abc import Iterator, Sequence
from statistics import geometric_mean
from typing import Any

from msgspec.structs import asdict

from dbdyno.analysis.compare.history import Change, MetricHistory, RunSeries, Suspected
from dbdyno.analysis.compare.verdicts import change
from dbdyno.layout import Line, Paragraph, laid_out
from dbdyno.report.costs import amount_text


def render_history_text(series: Sequence[RunSeries], screen: int | None = None) -> str:
    """Render for a terminal of this width, or a log; ends in a newline."""
    return "\n\n".join(laid_out(_lines(one), screen, flow=None) for one in series) + "\n"


def history_object(series: Sequence[RunSeries]) -> dict[str, Any]:
    """The object of ``--json``."""
    return {"series": [_series_object(one) for one in series]}


def _series_object(series: RunSeries) -> dict[str, Any]:
    return {
        **asdict(series.kind),
        "runs": [
            {"run_id": run.record.run_id, "started_at": run.record.started_at}
            for run in series.runs
        ],
        "metrics": [_metric_object(series, one) for one in series.metrics],
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


def _lines(series: RunSeries) -> Iterator[Line]:
    yield Paragraph(series.kind.text, "    ")
    yield f"  {period_text(series)}"
    for found in series.metrics:
        yield _set_in(2, f"{found.metric.title}: {state_text(found)}")
        for one in found.changes:
            yield _set_in(4, change_text(series, found, one))
            yield from (_set_in(6, line) for line in evidence(series, one))
        if found.suspected:
            yield _set_in(4, suspected_text(series, found, found.suspected))
            yield from (_set_in(6, line) for line in series.differs(found.suspected.index))


def _set_in(columns: int, text: str) -> Paragraph:
    return Paragraph(" " * columns + text, " " * (columns + 2))


def period_text(series: RunSeries) -> str:
    """How many runs, and their first and last date."""
    first, last = (run.record.started_at[:10] for run in (series.runs[0], series.runs[-1]))
    return f"{len(series.runs)} runs, {first} to {last}"


def state_text(found: MetricHistory) -> str:
    """A metric's latest value, its value just before, and how often its level changed."""
    when = "the latest run" if found.values[-1] is not None else "the latest run that has it"
    number = len(found.changes)
    changes = {0: "no change", 1: "1 change"}.get(number, f"{number} changes")
    now = f"{value_text(found, found.latest)} in {when}"
    perhaps = ", and perhaps one more" if found.suspected and number else ""
    if found.suspected and not number:
        changes = "perhaps a change"
    return f"{now}, {_before_text(found)}{changes} of level{perhaps}"


def suspected_text(series: RunSeries, found: MetricHistory, one: Suspected) -> str:
    """Where the level may have changed, and what would tell."""
    levels = f"{value_text(found, one.before)} to {value_text(found, one.after)}"
    run = series.runs[one.index].record.run_id
    return f"perhaps {levels}, from run {run} on: too few runs to be sure; run again to tell"


def _before_text(found: MetricHistory) -> str:
    """Earlier values; a level takes two runs, so only this shows that the latest one differs."""
    before = found.before_latest
    if not before:
        return ""
    runs = "one" if len(before) == 1 else str(len(before))
    return f"{value_text(found, geometric_mean(before))} in the {runs} before it, "


def value_text(found: MetricHistory, value: float) -> str:
    """A value of this metric, as text."""
    return amount_text(value, found.metric.unit.removesuffix("per transaction").strip())


def change_text(series: RunSeries, found: MetricHistory, one: Change) -> str:
    """When, by how much, from what to what, and whether for better or worse."""
    run = series.runs[one.index].record
    rose = one.ratio > 1
    judged = "better" if rose == (found.metric.better == "higher") else "worse"
    levels = f"{value_text(found, one.before)} to {value_text(found, one.after)}"
    when = run.started_at[:16].replace("T", " ")
    return f"{when}  {change(one.ratio)}, {judged}: {levels}, from run {run.run_id} on"


def evidence(series: RunSeries, one: Change) -> Iterator[str]:
    """What changed with it: costs per transaction, and what differs from that run on."""
    if one.moved:
        moved = ", ".join(f"{cost.title} {change(cost.ratio)}" for cost in one.moved)
        yield f"costs per transaction: {moved}"
    else:
        yield "no other cost per transaction changed with it"
    differs = series.differs(one.index)
    yield from differs or ["no recorded difference from the previous run"]
