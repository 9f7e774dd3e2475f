"""What the charts over time share: their time axis, the marks on it, and their tables."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from dbdyno.analysis.series.timeline import Timeline, whole_intervals
from dbdyno.formatting import seconds
from dbdyno.model.run import Run
from dbdyno.model.tables import rows
from dbdyno.report.charts import resample
from dbdyno.report.charts.event_lanes import lanes
from dbdyno.report.content import LineChart, Mark, Series

COLOURS = ("--blue", "--amber", "--teal", "--red", "--wait-other-wait", "--wait-io", "--grey")
"""Of lines that mean the same of different things, such as servers."""
ROWS_MAX = 60


def chart(run: Run, series: Sequence[Series], **dress: Any) -> LineChart:
    """Series over the run's time, one point per interval or group of intervals.

    A point is in the middle of its time, and the axis covers the whole run, so that its last second
    has a place, too.
    """
    line = whole_intervals(run)
    size = resample.group_size(len(line.time_s))
    middles_s = resample.mean_of(line.time_s + line.seconds / 2, size)
    begin_s, end_s = span_s(run)
    return LineChart(
        x=[round(time_s, 3) for time_s in middles_s.tolist()],
        begin_s=begin_s,
        end_s=end_s,
        series=series,
        marks=marks(run),
        lanes=lanes(run),
        **dress,
    )


def span_s(run: Run) -> tuple[float, float]:
    """Where the time axis begins and ends."""
    line = whole_intervals(run)
    return float(line.time_s[0]), float(line.time_s[-1] + line.seconds[-1])


def marks(run: Run) -> list[Mark]:
    """The warm-up, the drain and the outages, if there were any, in order of time.

    An outage that never ended lasts until the end of the run.
    """
    line, outages = whole_intervals(run), run.outages
    ends_s = line.time_s + line.seconds
    found = [
        Mark(float(line.time_s[where][0]), float(ends_s[where][-1]), label)
        for phase, label in (("warmup", "warm-up"), ("drain", "drain"))
        if (where := line.phase == phase).any()
    ]
    _, last_s = span_s(run)
    found += [
        Mark(begin_s, last_s if math.isnan(length_s) else begin_s + length_s, "outage")
        for begin_s, length_s in rows(outages.time_s, outages.seconds)
    ]
    return sorted(found, key=lambda mark: mark.begin_s)


def shading_text(run: Run) -> str:
    """What the shaded stretches are, for a caption; empty if there are none."""
    names = " and ".join(dict.fromkeys(mark.label for mark in marks(run)))
    return f"; shaded: {names}" if names else ""


def sampled_rows(
    line: Timeline, columns: Sequence[resample.Values], write: Callable[[float], str]
) -> list[tuple[str, ...]]:
    """Rows for a table: every interval of a short run, the first of each group of a long one."""
    step = max(1, -(-len(line.time_s) // ROWS_MAX))
    return [
        (
            seconds(float(line.time_s[index])),
            str(line.phase[index]),
            *(write(float(column[index])) for column in columns),
        )
        for index in range(0, len(line.time_s), step)
    ]
