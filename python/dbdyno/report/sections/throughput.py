"""Throughput over time, and below it the failures on a scale of their own."""

from collections.abc import Sequence

import numpy as np

from dbdyno.analysis.series.planned_load import has_stages
from dbdyno.analysis.series.timeline import timeline, whole_intervals
from dbdyno.analysis.statistics.estimate import median
from dbdyno.explain.explain import explained_record
from dbdyno.formatting import count, percent, seconds, significant, tps
from dbdyno.model.run import Run
from dbdyno.report.charts import resample
from dbdyno.report.charts.event_lanes import lane_text
from dbdyno.report.charts.over_time import chart, sampled_rows, shading_text
from dbdyno.report.content import Block, Figure, LineChart, Section, Series, Table


def build(run: Run) -> Sequence[Block]:
    """One point per interval; for long runs the mean of a group of intervals."""
    line = whole_intervals(run)
    if not len(line.tps):
        return []
    figures = [
        Figure(
            id="throughput-chart",
            caption=f"Completed transactions per second; {_point_text(run)}.",
            summary=_throughput_summary(run),
            table=_table(run, "Throughput over time", "TPS", line.tps),
            chart=throughput_chart(run),
        )
    ]
    if line.failed_per_s.any():
        # Elsewhere no bar rather than one without height.
        bars = [value or None for value in _points(line.failed_per_s)]
        figures.append(
            Figure(
                id="failures-chart",
                caption=f"Failed transactions per second; {_point_text(run)}.",
                summary=_failures_summary(run),
                table=_table(run, "Failures over time", "Failed / s", line.failed_per_s),
                chart=_chart(run, Series("failed", "--red", bars, "bars"), 120),
            )
        )
    return figures


def throughput_chart(run: Run) -> LineChart:
    """Completed transactions per second, of a run with intervals."""
    return _chart(run, Series("ok", "--blue", _points(whole_intervals(run).tps)), 260)


def _chart(run: Run, series: Series, height: int) -> LineChart:
    return chart(run, [series], scale="linear", unit="tps", height=height)


def _points(values: resample.Values) -> list[float | None]:
    return resample.json_numbers(resample.mean_of(values, resample.group_size(len(values))))


def _point_text(run: Run) -> str:
    line = whole_intervals(run)
    # Stages cut intervals short.
    is_cut = has_stages(run.plan)
    typical_s = float(line.seconds.max()) if is_cut else median(line.seconds)
    length = seconds(resample.group_size(len(line.tps)) * typical_s)
    around = shading_text(run) + lane_text(run)
    return f"each point is the mean of {'at most ' if is_cut else ''}{length}{around}"


def _throughput_summary(run: Run) -> str:
    measured = timeline(run).measured().tps
    if not len(measured) or not measured.any():
        return "No transaction finished in a measured interval."
    if len(measured) == 1:
        return f"{tps(float(measured[0]))} transactions per second in the only measured interval."
    text = (
        f"Between {tps(float(measured.min()))} and {tps(float(measured.max()))} transactions "
        f"per second, median {tps(median(measured))}."
    )
    throughput = explained_record(run).throughput_tps
    if throughput is None or (variation := throughput.coefficient_of_variation) is None:
        return text
    around = " around the means of the stages" if has_stages(run.plan) else ""
    return f"{text} Coefficient of variation{around}: {percent(variation)}."


def _failures_summary(run: Run) -> str:
    failing = whole_intervals(run).failed_per_s
    failed = sum(failure.count for failure in explained_record(run).failures)
    return (
        f"{count(failed)} measured transactions failed; {count(int(np.count_nonzero(failing)))} of "
        f"{count(len(failing))} intervals have failures, at most "
        f"{significant(float(failing.max()))} per second."
    )


def _table(run: Run, caption: str, column: str, values: resample.Values) -> Table:
    return Table(
        caption=caption,
        columns=("Time", "Phase", column),
        rows=sampled_rows(whole_intervals(run), [values], significant),
        numeric=frozenset({0, 2}),
    )


SECTION = Section(id="throughput", title="Throughput", build=build)
