"""Series and sums of telemetry counters, by source, object and name.

A reading that is absent from the tables is 0 for a counter and unchanged for a level, if the source
was read then, according to the table ``samples``. What was never read is None here, never 0; so is
a counter that the source did not have, as its first reading shows. (In folders whose first readings
do not list the counters, such a counter looks like one that never grew.)
"""

import numpy as np
from msgspec import Struct

from dbdyno.analysis.statistics.estimate import Series
from dbdyno.model.counters import Counter, SourceName
from dbdyno.model.run import Run, once
from dbdyno.model.tables import Column, Counters, Levels, Samples, rows


class Growth(Struct, frozen=True):
    """Growth of a counter: one element per reading, each over its own seconds.

    ``time_s`` is the end of each. Readings across a reset of the counters are left out.
    """

    time_s: Series
    seconds: Series
    delta: Series


class LevelSeries(Struct, frozen=True):
    """The value at each reading."""

    time_s: Series
    value: Series


class Span(Struct, frozen=True):
    """A part of the run in seconds since the end of warm-up; an end of None is the last reading."""

    begin_s: float = 0.0
    end_s: float | None = None


MEASURED = Span()


def was_read(run: Run, source: SourceName) -> bool:
    """Whether the source was read at least once."""
    return source in _index(run).readings


def lack_of(run: Run, source: SourceName) -> str | None:
    """Why a source was not read, if telemetry knows; used in the text of findings."""
    lacks = run.lacks
    reasons = lacks.reason[lacks.source == source].tolist()
    return reasons[-1] if reasons else None


def objects(run: Run, source: SourceName) -> list[str]:
    """The names of the objects for which the source has reported something."""
    index = _index(run)
    series = (*index.counters.get(source, {}).values(), *index.levels.get(source, {}).values())
    return sorted({of for by_object in series for of in by_object})


def growth(run: Run, counter: Counter, of: str | None = None) -> Growth | None:
    """A counter over time, of one object or summed over all; None if it was not read."""
    index = _index(run)
    readings = index.readings.get(counter.source)
    if readings is None:
        return None
    names = index.counters.get(counter.source, {})
    if counter.name not in names and counter.source in index.listed:
        return None
    delta = np.zeros(len(readings.time_s))
    for series in _series(index.counters, counter, of):
        np.add.at(delta, np.searchsorted(readings.time_s, series.time_s), series.value)
    known = readings.has_growth
    return Growth(readings.time_s[known], readings.seconds[known], delta[known])


def total(run: Run, counter: Counter, of: str | None = None, span: Span = MEASURED) -> float | None:
    """Growth of a counter in a part of the run; None if the source was not read in it.

    A reading that is only partly inside counts in proportion. Some servers publish counters late
    (PostgreSQL 15 and later: each session about once a second), so growth from up to a second
    before the begin may be counted too; over a span of T seconds that is at most 1/T of the sum.
    The last reading after the end of the load is complete.
    """
    grown = growth(run, counter, of)
    if grown is None:
        return None
    end_s = np.inf if span.end_s is None else span.end_s
    begins_s = np.maximum(grown.time_s - grown.seconds, span.begin_s)
    inside_s = np.maximum(np.minimum(grown.time_s, end_s) - begins_s, 0.0)
    if not inside_s.any():
        return None
    return float((grown.delta * inside_s / grown.seconds).sum())


def covered(run: Run, source: SourceName, end_s: float) -> float:
    """The share of the measured part, which ends at ``end_s``, between two readings of a source."""
    readings = _index(run).readings.get(source)
    if readings is None or end_s <= 0:
        return 0.0
    begins_s = np.maximum(readings.time_s - readings.seconds, 0.0)
    inside_s = np.maximum(np.minimum(readings.time_s, end_s) - begins_s, 0.0)
    return float(inside_s[readings.has_growth].sum()) / end_s


def level(run: Run, counter: Counter, of: str | None = None) -> LevelSeries | None:
    """A level over time, of one object or summed over all; None if the source has no such level.

    From the first reading that reports it; an object that does not exist yet counts as 0.
    """
    index = _index(run)
    all_series = _series(index.levels, counter, of)
    if not all_series:
        return None
    times = index.readings[counter.source].time_s
    value = np.zeros(len(times))
    for series in all_series:
        place = np.searchsorted(series.time_s, times, side="right") - 1
        value += np.where(place >= 0, series.value[place], 0.0)
    known = times >= min(series.time_s[0] for series in all_series)
    return LevelSeries(times[known], value[known])


class _Readings(Struct, frozen=True):
    """When a source was read; ``has_growth`` is false for the first reading and after resets."""

    time_s: Series
    seconds: Series
    has_growth: Column


_BySource = dict[str, dict[str, dict[str, LevelSeries]]]
"""Rows of one table: by source, then by name, then by object."""


class _Index(Struct, frozen=True):
    """The rows of one run, indexed to avoid searching millions for a few."""

    readings: dict[str, _Readings]
    counters: _BySource
    levels: _BySource
    listed: set[str]


@once  # a report reads a hundred series of it
def _index(run: Run) -> _Index:
    samples, readings = run.samples, {}
    for (source,), places in _groups(samples.source).items():
        has_growth = (samples.seconds[places] > 0) & ~samples.was_reset[places]
        readings[source] = _Readings(samples.time_s[places], samples.seconds[places], has_growth)
    return _Index(
        readings,
        _by_source(run.counters, run.counters.delta),
        _by_source(run.levels, run.levels.value),
        _listed(samples, run.counters),
    )


def _listed(samples: Samples, counters: Counters) -> set[str]:
    """The sources that listed all their counters in the first reading."""
    begins: dict[str, float] = {}
    for source, time_s in rows(samples.source, samples.time_s):
        begins.setdefault(source, time_s)
    zero = counters.delta == 0
    read = rows(counters.source[zero], counters.time_s[zero])
    return {source for source, time_s in read if begins.get(source) == time_s}


def _by_source(table: Counters | Levels, values: Column) -> _BySource:
    found: _BySource = {}
    for (source, name, of), places in _groups(table.source, table.name, table.object).items():
        series = LevelSeries(table.time_s[places], values[places])
        found.setdefault(source, {}).setdefault(name, {})[of] = series
    return found


def _groups(*columns: Column) -> dict[tuple[str, ...], Column]:
    """The positions of the rows with equal values in these columns, in order."""
    numbers: dict[tuple[str, ...], int] = {}
    keys = rows(*columns)
    number = np.fromiter((numbers.setdefault(key, len(numbers)) for key in keys), dtype=np.int32)
    order = np.argsort(number, kind="stable")
    ends = np.cumsum(np.bincount(number, minlength=len(numbers)))
    places = np.split(order, ends[:-1])
    return dict(zip(numbers, places, strict=False))


def _series(table: _BySource, counter: Counter, of: str | None) -> list[LevelSeries]:
    by_object = table.get(counter.source, {}).get(counter.name, {})
    if of is None:
        return list(by_object.values())
    return [by_object[of]] if of in by_object else []
