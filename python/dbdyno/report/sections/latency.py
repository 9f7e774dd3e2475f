"""Response time over time: median, two percentiles and the longest, on a logarithmic axis."""

from collections.abc import Sequence

import numpy as np

from dbdyno.analysis.series.timeline import whole_intervals
from dbdyno.analysis.statistics.estimate import median
from dbdyno.explain.explain import explained_record
from dbdyno.formatting import milliseconds, seconds
from dbdyno.model.run import Run
from dbdyno.report.charts import resample
from dbdyno.report.charts.event_lanes import lane_text
from dbdyno.report.charts.over_time import chart, sampled_rows, shading_text
from dbdyno.report.content import (
    Block,
    Emphasis,
    Figure,
    LineChart,
    Section,
    Series,
    Table,
)

_LINES: tuple[tuple[str, str, str, Emphasis], ...] = (
    ("p50_ms", "p50", "--blue", "line"),
    ("p95_ms", "p95", "--teal", "line"),
    ("p99_ms", "p99", "--amber", "line"),
    ("max_ms", "max", "--grey", "thin"),
)


def build(run: Run) -> Sequence[Block]:
    """One point per interval; for long runs the worst of a group of intervals."""
    drawn = latency_chart(run)
    if drawn is None:
        return []
    line = whole_intervals(run)
    columns = [line.latencies_ms[name] for name, *_ in _LINES]
    return [
        Figure(
            id="latency-chart",
            caption=_caption(run, resample.group_size(len(line.tps))),
            summary=_summary(run),
            table=Table(
                caption="Response time over time",
                columns=("Time", "Phase", *(label for _, label, *_ in _LINES)),
                rows=sampled_rows(line, columns, milliseconds),
                numeric=frozenset({0, 2, 3, 4, 5}),
            ),
            chart=drawn,
        )
    ]


def latency_chart(run: Run) -> LineChart | None:
    """The lines, if any transaction ended."""
    line = whole_intervals(run)
    if not len(line.tps) or np.isnan(line.latencies_ms["max_ms"]).all():
        return None
    size = resample.group_size(len(line.tps))
    series = [
        Series(
            label,
            colour,
            resample.json_numbers(resample.worst_of(line.latencies_ms[name], size)),
            emphasis,
        )
        for name, label, colour, emphasis in _LINES
    ]
    return chart(run, series, scale="log", unit="ms")


def _caption(run: Run, size: int) -> str:
    line = whole_intervals(run)
    length = seconds(median(line.seconds))
    grouped = f"; each point is the maximum of {size} intervals" if size > 1 else ""
    several = len(run.plan.scripts) > 1
    coarse = " Values over several scripts may be wrong by up to 1/8." if several else ""
    shaded = shading_text(run) + lane_text(run)
    # Measured intervals with throughput may have no response time: a backlog is served.
    silent = np.isnan(line.latencies_ms["max_ms"]) & (line.tps > 0) & (line.phase == "measure")
    silence = (
        " Without a point: intervals in which only transactions that became due in the warm-up "
        "ended, which are not measured."
    ) * bool(silent.any())
    text = f"Response time of the transactions that ended in each interval of {length}"
    return f"{text}{grouped}{shaded}.{coarse}{silence}"


def _summary(run: Run) -> str:
    line = whole_intervals(run)
    measured = line.phase == "measure"
    p99, longest = (line.latencies_ms[name][measured] for name in ("p99_ms", "max_ms"))
    if not len(p99) or np.isnan(p99).all():
        return "No transaction finished in a measured interval."
    known = ~np.isnan(p99)
    known_ms, time_s = p99[known], line.time_s[measured][known]
    least, most = milliseconds(float(known_ms.min())), milliseconds(float(known_ms.max()))
    text = f"between {least} and {most}, worst at {seconds(float(time_s[known_ms.argmax()]))}"
    if len(known_ms) == 1:
        text = f"{most} in the only interval that has one"
    # It may have ended after the measurement; of an interrupted run only the intervals are known.
    response = explained_record(run).response_ms
    longest_ms = response.max if response else float(np.nanmax(longest))
    return f"p99 is {text}; the longest transaction took {milliseconds(longest_ms)}."


SECTION = Section(id="latency", title="Response time", build=build)
