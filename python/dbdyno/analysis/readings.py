"""Series and sums of telemetry counters, by source, object and name.

A reading that is absent from the tables is 0 for a counter and unchanged for a level, if the source
was read then, according to the table ``samples``. What was never read is None here, never 0; so is
a counter that the source did not have, as its first reading shows. (In folders whose first readings
do not list the counters, such a counter looks like one that never grew.)
"""

from weakref import WeakKeyDictionary

import numpy as np
from msgspec import Struct

from dbdyno.analysis.estimate import Series
from dbdyno.model.recording import Column, Columns, Recording


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


def was_read(recording: Recording, source: str) -> bool:
    """Whether the source was read at least once."""
    return source in _index(recording).readings


def lack_of(recording: Recording, source: str) -> str | None:
    """Why a source was not read, if telemetry knows; used in the text of findings."""
    lacks = recording.tables["lacks"]
    reasons = lacks["reason"][lacks["source"] == source].tolist()
    return reasons[-1] if reasons else None


def objects(recording: Recording, source: str) -> list[str]:
    """The names of the objects for which the source has reported something."""
    index = _index(recording)
    series = (*index.counters.get(source, {}).values(), *index.levels.get(source, {}).values())
    return sorted({of for by_object in series for of in by_object})


def growth(recording: Recording, source: str, name: str, of: str | None = None) -> Growth | None:
    """A counter over time, of one object or summed over all; None if it was not read."""
    index = _index(recording)
    readings = index.readings.get(source)
    if readings is None or not _has(index, source, name):
        return None
    delta = np.zeros(len(readings.time_s))
    for series in _series(index.counters, source, name, of):
        np.add.at(delta, np.searchsorted(readings.time_s, series.time_s), series.value)
    known = readings.has_growth
    return Growth(readings.time_s[known], readings.seconds[known], delta[known])


def total(
    recording: Recording, source: str, name: str, of: str | None = None, span: Span = MEASURED
) -> float | None:
    """Growth of a counter in a part of the run; None if the source was not read in it.

    A reading that is only partly inside counts in proportion. Some servers publish counters late
    (PostgreSQL 15 and later: each session about once a second), so growth from up to a second
    before the begin may be counted too; over a span of T seconds that is at most 1/T of the sum.
    The last reading after the end of the load is complete.
    """
    grown = growth(recording, source, name, of)
    if grown is None:
        return None
    end_s = np.inf if span.end_s is None else span.end_s
    begins_s = np.maximum(grown.time_s - grown.seconds, span.begin_s)
    inside_s = np.maximum(np.minimum(grown.time_s, end_s) - begins_s, 0.0)
    if not inside_s.any():
        return None
    return float((grown.delta * inside_s / grown.seconds).sum())


def covered(recording: Recording, source: str, end_s: float) -> float:
    """The share of the measured part, which ends at ``end_s``, between two readings of a source."""
    readings = _index(recording).readings.get(source)
    if readings is None or end_s <= 0:
        return 0.0
    begins_s = np.maximum(readings.time_s - readings.seconds, 0.0)
    inside_s = np.maximum(np.minimum(readings.time_s, end_s) - begins_s, 0.0)
    return float(inside_s[readings.has_growth].sum()) / end_s


def level(
    recording: Recording, source: str, name: str, of: str | None = None
) -> LevelSeries | None:
    """A level over time, of one object or summed over all; None if the source has no such level.

    From the first reading that reports it; an object that does not exist yet counts as 0.
    """
    index = _index(recording)
    all_series = _series(index.levels, source, name, of)
    if not all_series:
        return None
    times = index.readings[source].time_s
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
    """The rows of one recording, indexed to avoid searching millions for a few."""

    readings: dict[str, _Readings]
    counters: _BySource
    levels: _BySource
    listed: set[str]


# Kept for as long as the recording lives: a report reads a hundred series of it.
_indexes: WeakKeyDictionary[Recording, _Index] = WeakKeyDictionary()


def _index(recording: Recording) -> _Index:
    if recording not in _indexes:
        tables = recording.tables
        _indexes[recording] = _Index(
            _readings(tables["samples"]),
            _by_source(tables["counters"], "delta"),
            _by_source(tables["levels"], "value"),
            _listed(tables["samples"], tables["counters"]),
        )
    return _indexes[recording]


def _has(index: _Index, source: str, name: str) -> bool:
    """Whether the source has a counter of this name, or did not list its counters."""
    series = index.counters.get(source, {})
    return name in series or source not in index.listed


def _listed(samples: Columns, counters: Columns) -> set[str]:
    """The sources that listed all their counters in the first reading."""
    begins: dict[str, float] = {}
    for source, time_s in zip(samples["source"].tolist(), samples["time_s"].tolist(), strict=True):
        begins.setdefault(source, time_s)
    zero = counters["delta"] == 0
    rows = zip(counters["source"][zero].tolist(), counters["time_s"][zero].tolist(), strict=True)
    return {source for source, time_s in rows if begins.get(source) == time_s}


def _readings(samples: Columns) -> dict[str, _Readings]:
    found = {}
    for (source,), rows in _groups(samples, ("source",)).items():
        has_growth = (samples["seconds"][rows] > 0) & ~samples["was_reset"][rows]
        found[source] = _Readings(samples["time_s"][rows], samples["seconds"][rows], has_growth)
    return found


def _by_source(columns: Columns, value: str) -> _BySource:
    found: _BySource = {}
    for (source, name, of), rows in _groups(columns, ("source", "name", "object")).items():
        series = LevelSeries(columns["time_s"][rows], columns[value][rows])
        found.setdefault(source, {}).setdefault(name, {})[of] = series
    return found


def _groups(columns: Columns, names: tuple[str, ...]) -> dict[tuple[str, ...], Column]:
    """The positions of the rows with equal values in these columns, in order."""
    numbers: dict[tuple[str, ...], int] = {}
    keys = zip(*(columns[name].tolist() for name in names), strict=True)
    number = np.fromiter((numbers.setdefault(key, len(numbers)) for key in keys), dtype=np.int32)
    order = np.argsort(number, kind="stable")
    ends = np.cumsum(np.bincount(number, minlength=len(numbers)))
    places = np.split(order, ends[:-1])
    return dict(zip(numbers, places, strict=False))


def _series(table: _BySource, source: str, name: str, of: str | None) -> list[LevelSeries]:
    by_object = table.get(source, {}).get(name, {})
    if of is None:
        return list(by_object.values())
    return [by_object[of]] if of in by_object else []
