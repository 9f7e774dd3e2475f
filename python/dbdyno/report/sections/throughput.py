"""Throughput over time, with the failures below it."""

from collections.abc import Sequence

import numpy as np

from dbdyno.report import resample
from dbdyno.report.content import Block, Figure, LineChart, Section, Series, Subject, Table
from dbdyno.report.over_time import marks, sampled_rows, times
from dbdyno.report.words import count, percent, seconds, tps


def build(subject: Subject) -> Sequence[Block]:
    """One point an interval; of long runs the mean of a group of intervals."""
    line = subject.timeline
    if not len(line.tps):
        return []
    size = resample.group_size(len(line.tps))
    failing = bool(line.failed_per_s.any())
    series = [_series("committed", "--blue", resample.mean_of(line.tps, size), "line")]
    if failing:
        series.append(_series("failed", "--red", resample.mean_of(line.failed_per_s, size), "bars"))
    chart = LineChart(
        x=times(line, size), series=series, scale="linear", unit="tps", marks=marks(line)
    )
    return [
        Figure(
            id="throughput-chart",
            caption=_caption(size * float(np.median(line.seconds))),
            summary=_summary(subject),
            table=_table(subject),
            chart=chart,
        )
    ]


def _series(label: str, colour: str, values: resample.Values, emphasis: str) -> Series:
    return Series(label, colour, resample.json_numbers(values), emphasis)  # type: ignore[arg-type]


def _caption(point_s: float) -> str:
    return f"Transactions a second; each point is the mean of {seconds(point_s)}."


def _summary(subject: Subject) -> str:
    measured = subject.timeline.measured_tps
    if not len(measured):
        return "Nothing was measured."
    failed = sum(failure.count for failure in subject.record.failures)
    said = (
        f"Between {tps(float(measured.min()))} and {tps(float(measured.max()))} transactions "
        f"a second, median {tps(float(np.median(measured)))}."
    )
    variation = measured.std() / measured.mean() if measured.mean() else 0.0
    spread = f" The intervals vary by {percent(float(variation))} around their mean."
    return said + spread + (f" {count(failed)} failed." if failed else " None failed.")


def _table(subject: Subject) -> Table:
    line = subject.timeline
    columns = (line.tps, line.failed_per_s)
    return Table(
        caption="Throughput over time",
        columns=("Time", "Phase", "Committed / s", "Failed / s"),
        rows=sampled_rows(line, columns, tps),
        numeric=frozenset({0, 2, 3}),
    )


SECTION = Section(id="throughput", title="Throughput", order=10, build=build)
