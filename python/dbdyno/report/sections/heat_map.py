"""Response times of each interval as a heat map: shows what percentiles hide, such as two modes."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from dbdyno.analysis.series.distributions import bucket_low_ms, bucket_matrix
from dbdyno.analysis.series.timeline import timeline
from dbdyno.formatting import milliseconds, percent
from dbdyno.model.run import Run
from dbdyno.report.charts.event_lanes import lanes
from dbdyno.report.charts.grid import Grid
from dbdyno.report.charts.heat_map import draw_heat_map
from dbdyno.report.charts.over_time import span_s
from dbdyno.report.charts.plot import at_each_width
from dbdyno.report.content import Block, Figure, Section, Table, TimeAxis

_COLUMNS_MAX = 240


def build(run: Run) -> Sequence[Block]:
    """Measured intervals only, added up in groups if the run is long."""
    grid = _grid(run)
    if grid is None:
        return []
    ends = grid.ends_ms.tolist()
    mode = float(grid.ends_ms[grid.of_all.argmax()])
    return [
        Figure(
            id="heat-map-image",
            axes=("time since the start of the run", "response time"),
            caption="Transactions by response time. Colour intensity: square root of the share of "
            "transactions per unit of height. Measured part only.",
            summary=f"Response times are between {milliseconds(grid.low_ms)} and "
            f"{milliseconds(grid.longest_ms)}; the fullest bucket starts at {milliseconds(mode)} "
            f"and holds {percent(float(grid.of_all.max()))} of the transactions.",
            table=Table(
                caption="Share of transactions by response time, over the whole run",
                columns=("From", "To", "Share"),
                rows=[
                    (milliseconds(low), milliseconds(high), percent(float(share)))
                    for low, high, share in zip(ends, ends[1:], grid.of_all, strict=False)
                    if share
                ],
                numeric=frozenset({0, 1, 2}),
            ),
            svg=at_each_width(partial(draw_heat_map, grid)),
            shows=grid,
            time_axis=TimeAxis(*grid.run_s),
        )
    ]


def _grid(run: Run) -> Grid | None:
    line = timeline(run)
    measured = np.flatnonzero(line.phase == "measure")
    counts = bucket_matrix(run.script_buckets, len(line.tps))[measured]
    filled = np.flatnonzero(counts.sum(axis=0))
    if not len(filled):
        return None
    size = max(1, -(-len(counts) // _COLUMNS_MAX))
    counts = np.add.reduceat(counts, np.arange(0, len(counts), size))
    first, last = int(filled[0]), int(filled[-1]) + 1
    counts = counts[:, first:last]
    return Grid(
        shares=(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)).T,
        ends_ms=bucket_low_ms(np.arange(first, last + 1)),
        of_all=counts.sum(axis=0) / counts.sum(),
        longest_ms=float(np.nanmax(line.latencies_ms["max_ms"][measured])),
        begin_s=float(line.time_s[measured[0]]),
        end_s=float(line.time_s[measured[-1]] + line.seconds[measured[-1]]),
        run_s=span_s(run),
        has_events=bool(lanes(run)),
    )


SECTION = Section(id="heat-map", title="Response time heat map", build=build)
