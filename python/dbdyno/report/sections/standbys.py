"""The standbys: how far they were behind, and how old what readers saw there was."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dbdyno.analysis.series.readings import LevelSeries
from dbdyno.analysis.series.timeline import whole_intervals
from dbdyno.analysis.standbys import lag
from dbdyno.explain.explain import explained_record
from dbdyno.formatting import NOTHING, count, milliseconds, percent, seconds, size
from dbdyno.model.counters import Replication
from dbdyno.model.record import RunRecord, StandbyRecord
from dbdyno.model.run import Run
from dbdyno.report.charts import resample
from dbdyno.report.charts.event_lanes import lane_text
from dbdyno.report.charts.over_time import COLOURS, ROWS_MAX, chart, shading_text
from dbdyno.report.content import Block, Figure, Section, Series, Table, Text

COLUMNS = (
    *("Standby", "Reading clients", "Lag p50", "Lag max", "Replay lag p50", "Replay lag max"),
    *("Stale reads", "Staleness p50", "p99", "max"),
)


def build(run: Run) -> Sequence[Block]:
    """A row for each standby, and their lag over time."""
    record = explained_record(run)
    if not record.standbys:
        return []
    return [
        Table(
            columns=COLUMNS,
            rows=[
                (
                    one.name,
                    count(one.clients),
                    _bytes(one.lag_bytes_p50),
                    _bytes(one.lag_bytes_max),
                    milliseconds(one.replay_lag_p50_ms),
                    milliseconds(one.replay_lag_max_ms),
                    _stale(one),
                    milliseconds(one.staleness_p50_ms),
                    milliseconds(one.staleness_p99_ms),
                    milliseconds(one.staleness_max_ms),
                )
                for one in record.standbys
            ],
            numeric=frozenset(range(1, len(COLUMNS))),
        ),
        *_figures(run, record.standbys),
        Text(
            text="Lag is the log that a standby had not replayed yet, in bytes of its primary's "
            "log; replay lag is how long it took until something was replayed, as its primary last "
            "heard, or, where a primary is not told, as the standby showed. "
            "A probe beside the load commits a number on the primary, up to 20 times a second, and "
            "reads it on each standby as soon as it is acknowledged: a read that does not have it "
            "is stale, and staleness is how long the acknowledged number was not there (0 if the "
            "first read had it).",
            note=True,
        ),
    ]


def summary(record: RunRecord) -> Sequence[Block]:
    """How far each standby was behind, and what its readers saw."""
    if not record.standbys:
        return []
    columns = ("standby", "clients", "lag p50", "lag max", "stale reads", "staleness p99", "max")
    return [
        Table(
            columns=columns,
            rows=[
                (
                    one.name,
                    count(one.clients),
                    _bytes(one.lag_bytes_p50),
                    _bytes(one.lag_bytes_max),
                    _stale(one),
                    milliseconds(one.staleness_p99_ms),
                    milliseconds(one.staleness_max_ms),
                )
                for one in record.standbys
            ],
            numeric=frozenset(range(1, len(columns))),
        )
    ]


def _figures(run: Run, standbys: Sequence[StandbyRecord]) -> list[Figure]:
    """One chart of the replay lag, if the primary reported any."""
    line = whole_intervals(run)
    lags = {
        one.name: series
        for one in standbys
        if (series := lag(run, Replication.replay_lag_s, one)) is not None
    }
    if not lags or not len(line.time_s):
        return []
    values_ms = {name: _longest_ms(line.time_s, series) for name, series in lags.items()}
    grouping = resample.group_size(len(line.time_s))
    step = max(1, -(-len(line.time_s) // ROWS_MAX))
    places = {one.name: place for place, one in enumerate(standbys, 1)}
    shown = [
        Series(
            f"no. {places[name]}",
            COLOURS[number % len(COLOURS)],
            resample.json_numbers(resample.worst_of(values, grouping)),
        )
        for number, (name, values) in enumerate(values_ms.items())
    ]
    longest = max(lags, key=lambda name: float(lags[name].value.max()))
    longest_ms = float(lags[longest].value.max()) * 1e3
    return [
        Figure(
            id="standbys-chart",
            caption="Replay lag at each reading: the longest of each interval, by "
            f"the place of the standby in the table above{shading_text(run)}{lane_text(run)}.",
            summary=f"The longest replay lag was {milliseconds(longest_ms)}, of {longest}.",
            table=Table(
                caption="Replay lag over time",
                columns=("Time", *lags),
                rows=[
                    (
                        seconds(float(line.time_s[at])),
                        *(_lag_text(float(values[at])) for values in values_ms.values()),
                    )
                    for at in range(0, len(line.time_s), step)
                ],
                numeric=frozenset(range(len(lags) + 1)),
            ),
            chart=chart(run, shown, scale="linear", unit="ms", height=180),
        )
    ]


def _longest_ms(begins_s: NDArray[np.float64], lag: LevelSeries) -> NDArray[np.float64]:
    """The longest lag that was read in each interval; NaN without a reading."""
    longest_ms = np.full(len(begins_s), np.nan)
    places = np.searchsorted(begins_s, lag.time_s, side="right") - 1
    np.fmax.at(longest_ms, places, lag.value * 1e3)
    return longest_ms


def _lag_text(value_ms: float) -> str:
    return NOTHING if np.isnan(value_ms) else milliseconds(value_ms)


def _bytes(value: float | None) -> str:
    return NOTHING if value is None else size(value)


def _stale(standby: StandbyRecord) -> str:
    """``12 % of 580``."""
    if standby.stale_share is None:
        return NOTHING
    return f"{percent(standby.stale_share)} of {count(standby.probed)}"


SECTION = Section(id="standbys", title="Standbys", build=build, summary=summary)
