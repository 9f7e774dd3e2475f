"""How far standbys were behind their primary, as telemetry saw them."""

from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from dbdyno.analysis.series.readings import LevelSeries, level, objects
from dbdyno.model.counters import Counter, Replication
from dbdyno.model.record import StandbyRecord
from dbdyno.model.run import Run


def with_lag(run: Run, standbys: Sequence[StandbyRecord]) -> list[StandbyRecord]:
    """Return the records of a run's standbys, with their lag, and those of others that it saw.

    A server that itself follows others reports its own lag, but no bytes: that is not meant here.
    """
    known = {_listed_as(one) for one in standbys}
    listed = [
        name
        for name in objects(run, Replication.source)
        if level(run, Replication.lag_bytes, name) is not None
    ]
    others = [
        StandbyRecord(name=name, application_name=name) for name in listed if name not in known
    ]
    return [
        replace(
            one,
            lag_bytes_p50=_share(run, Replication.lag_bytes, one, 50),
            lag_bytes_max=_share(run, Replication.lag_bytes, one, 100),
            replay_lag_p50_ms=_milliseconds(_share(run, Replication.replay_lag_s, one, 50)),
            replay_lag_max_ms=_milliseconds(_share(run, Replication.replay_lag_s, one, 100)),
        )
        for one in (*standbys, *others)
    ]


def lag(run: Run, counter: Counter, standby: StandbyRecord) -> LevelSeries | None:
    """How far a standby was behind at each reading of the measured part; None if unknown."""
    series = level(run, counter, _listed_as(standby))
    if series is None:
        return None
    end_s = run.record.duration_s or np.inf
    inside = (series.time_s >= 0) & (series.time_s <= end_s)
    return LevelSeries(series.time_s[inside], series.value[inside]) if inside.any() else None


def _listed_as(standby: StandbyRecord) -> str:
    """The name of its lag: one that its primary does not list has the one that it has here."""
    return standby.application_name or standby.name


def _share(run: Run, counter: Counter, standby: StandbyRecord, percent: int) -> float | None:
    series = lag(run, counter, standby)
    return None if series is None else float(np.percentile(series.value, percent))


def _milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1e3
