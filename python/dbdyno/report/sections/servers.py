"""The servers of a load that went to several: what happened at each, and when."""

from collections.abc import Sequence

import numpy as np

from dbdyno.analysis.series.timeline import are_whole, whole_intervals
from dbdyno.explain.explain import explained_record
from dbdyno.formatting import count, seconds, tps
from dbdyno.model.record import RunRecord
from dbdyno.model.run import Run
from dbdyno.report.charts import resample
from dbdyno.report.charts.event_lanes import lane_text
from dbdyno.report.charts.over_time import COLOURS, ROWS_MAX, chart, shading_text
from dbdyno.report.content import Block, Figure, Section, Series, Table, Text

COLUMNS = (
    *("No.", "Server", "At the beginning", "Transactions", "Per second", "Failed"),
    *("Connects", "Connects failed", "Connections lost"),
)


def build(run: Run) -> Sequence[Block]:
    """A row for each server, and its throughput over time."""
    record = explained_record(run)
    if not record.servers:
        return []
    return [
        _table(record),
        *_figures(run, record),
        Text(
            text="Each client begins with the next server of those that take writes, and moves on "
            "to the next one when a connect fails or its connection breaks; there it stays. "
            "Connects, failures and losses are those after the warm-up.",
            note=True,
        ),
    ]


def summary(record: RunRecord) -> Sequence[Block]:
    """A row for each server."""
    return [_table(record)] if record.servers else []


def _table(record: RunRecord) -> Table:
    return Table(
        columns=COLUMNS,
        rows=[
            (
                str(number),
                one.name,
                "took writes" if one.takes_writes else "only read",
                count(one.transactions),
                tps(one.tps),
                count(one.failed),
                count(one.connects),
                count(one.connects_failed),
                count(one.connections_lost),
            )
            for number, one in enumerate(record.servers)
        ],
        numeric=frozenset({0, *range(3, len(COLUMNS))}),
    )


def _figures(run: Run, record: RunRecord) -> list[Figure]:
    """One chart of the throughput at each server."""
    line, seen = whole_intervals(run), run.server_intervals
    intervals = run.intervals.interval[are_whole(run.intervals.seconds)]
    if not len(intervals):
        return []
    rates = np.zeros((len(record.servers), len(intervals)))
    is_shown = np.isin(seen.interval, intervals)
    places = np.searchsorted(intervals, seen.interval[is_shown])
    rates[seen.server[is_shown].astype(int), places] = (
        seen.completed_committed[is_shown] / line.seconds[places]
    )
    grouping = resample.group_size(len(intervals))
    step = max(1, -(-len(intervals) // ROWS_MAX))
    busiest = max(range(len(record.servers)), key=lambda number: record.servers[number].tps)
    return [
        Figure(
            id="servers-chart",
            caption="Transactions per second at each server, by its number in the table above"
            f"{shading_text(run)}{lane_text(run)}.",
            summary=f"Most transactions ended at server no. {busiest}.",
            table=Table(
                caption="Transactions per second at each server over time",
                columns=("Time", *(one.name for one in record.servers)),
                rows=[
                    (seconds(float(line.time_s[at])), *(tps(float(rate)) for rate in rates[:, at]))
                    for at in range(0, len(intervals), step)
                ],
                numeric=frozenset(range(len(record.servers) + 1)),
            ),
            chart=chart(
                run,
                [
                    Series(
                        f"no. {number}",
                        COLOURS[number % len(COLOURS)],
                        resample.json_numbers(resample.mean_of(values, grouping)),
                    )
                    for number, values in enumerate(rates)
                ],
                scale="linear",
                unit="tps",
                height=180,
            ),
        )
    ]


SECTION = Section(id="servers", title="Servers of the load", build=build, summary=summary)
