"""Throughput over time, and below it the failures on a scale of their own."""

from collections.abc import Sequence

import numpy as np

from dbdyno.analysis.medians import median
from dbdyno.analysis.planned_load import has_stages
from dbdyno.formatting import count, percent, seconds, significant, tps
from dbdyno.report import resample
from dbdyno.report.content import Block, Figure, LineChart, Section, Series, Subject, Table
from dbdyno.report.events import lane_text
from dbdyno.report.over_time import chart, sampled_rows, shading_text


def build(subject: Subject) -> Sequence[Block]:
    """One point per interval; for long runs the mean of a group of intervals."""
    line = subject.whole_intervals
    if not len(line.tps):
        return []
    figures = [_throughput(subject)]
    if line.failed_per_s.any():
        figures.append(_failures(subject))
    return figures


def _throughput(subject: Subject) -> Figure:
    line = subject.whole_intervals
    return Figure(
        id="throughput-chart",
        caption=f"Completed transactions per second; {_point_text(subject)}.",
        summary=_throughput_summary(subject),
        table=_table(subject, "Throughput over time", "TPS", line.tps),
        chart=_chart(subject, Series("ok", "--blue", _points(line.tps)), 260),
    )


def _failures(subject: Subject) -> Figure:
    line = subject.whole_intervals
    return Figure(
        id="failures-chart",
        caption=f"Failed transactions per second; {_point_text(subject)}.",
        summary=_failures_summary(subject),
        table=_table(subject, "Failures over time", "Failed / s", line.failed_per_s),
        chart=_chart(subject, _failed_series(line.failed_per_s), 120),
    )


def _failed_series(failed_per_s: resample.Values) -> Series:
    """Bars where something failed; elsewhere no bar rather than one without height."""
    values = [value or None for value in _points(failed_per_s)]
    return Series("failed", "--red", values, "bars")


def _points(values: resample.Values) -> list[float | None]:
    return resample.json_numbers(resample.mean_of(values, resample.group_size(len(values))))


def _chart(subject: Subject, series: Series, height: int) -> LineChart:
    return chart(subject, [series], scale="linear", unit="tps", height=height)


def _point_text(subject: Subject) -> str:
    line = subject.whole_intervals
    # Stages cut intervals short.
    is_cut = has_stages(subject.recording.plan)
    typical_s = float(line.seconds.max()) if is_cut else median(line.seconds)
    length = seconds(resample.group_size(len(line.tps)) * typical_s)
    around = shading_text(subject) + lane_text(subject)
    return f"each point is the mean of {'at most ' if is_cut else ''}{length}{around}"


def _throughput_summary(subject: Subject) -> str:
    measured = subject.timeline.measured().tps
    if not len(measured) or not measured.any():
        return "No transaction finished in a measured interval."
    if len(measured) == 1:
        return f"{tps(float(measured[0]))} transactions per second in the only measured interval."
    return (
        f"Between {tps(float(measured.min()))} and {tps(float(measured.max()))} transactions "
        f"per second, median {tps(median(measured))}.{_variation_text(subject)}"
    )


def _variation_text(subject: Subject) -> str:
    throughput = subject.record.throughput_tps
    variation = throughput.coefficient_of_variation if throughput else None
    if variation is None:
        return ""
    around = " around the means of the stages" if has_stages(subject.recording.plan) else ""
    return f" Coefficient of variation{around}: {percent(variation)}."


def _failures_summary(subject: Subject) -> str:
    failing = subject.whole_intervals.failed_per_s
    failed = sum(failure.count for failure in subject.record.failures)
    return (
        f"{count(failed)} measured transactions failed; {count(int(np.count_nonzero(failing)))} of "
        f"{count(len(failing))} intervals have failures, at most "
        f"{significant(float(failing.max()))} per second."
    )


def _table(subject: Subject, caption: str, column: str, values: resample.Values) -> Table:
    return Table(
        caption=caption,
        columns=("Time", "Phase", column),
        rows=sampled_rows(subject.whole_intervals, [values], significant),
        numeric=frozenset({0, 2}),
    )


SECTION = Section(id="throughput", title="Throughput", order=10, build=build)
