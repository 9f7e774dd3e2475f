"""The series over measurement intervals, all scripts together, that are analysed and drawn."""

import numpy as np
from msgspec import Struct

from dbdyno.analysis.series.distributions import bucket_matrix, coarse_quantile_ms
from dbdyno.analysis.statistics.estimate import Series, median
from dbdyno.analysis.statistics.spans import Mask
from dbdyno.model.run import Run, once
from dbdyno.model.tables import Column

PERCENTILES = {"p50_ms": 0.5, "p95_ms": 0.95, "p99_ms": 0.99}
_WHOLE_SHARE = 0.5


class Timeline(Struct, frozen=True):
    """One element per interval; times in seconds since the end of the warm-up."""

    phase: Column
    time_s: Series
    seconds: Series
    tps: Series
    failed_per_s: Series
    latencies_ms: dict[str, Series]
    """``p50_ms``, ``p95_ms``, ``p99_ms`` and ``max_ms``; NaN if nothing completed."""

    def whole_intervals(self) -> "Timeline":
        """Without intervals that were cut short, such as the last one and the drain.

        In a few milliseconds only stragglers complete: such a point does not represent a level.
        """
        return self._only(are_whole(self.seconds))

    def measured(self) -> "Timeline":
        """The whole intervals that were measured."""
        whole = self.whole_intervals()
        return whole._only(whole.phase == "measure")

    def _only(self, these: Mask) -> "Timeline":
        return Timeline(
            phase=self.phase[these],
            time_s=self.time_s[these],
            seconds=self.seconds[these],
            tps=self.tps[these],
            failed_per_s=self.failed_per_s[these],
            latencies_ms={name: values[these] for name, values in self.latencies_ms.items()},
        )


def are_whole(seconds: Series) -> Mask:
    """Mask of the intervals with at least half the usual length."""
    typical_s = median(seconds) if len(seconds) else 0.0
    whole: Mask = seconds >= typical_s * _WHOLE_SHARE
    return whole


@once
def timeline(run: Run) -> Timeline:
    """The run's intervals."""
    intervals = run.intervals
    seconds = np.maximum(intervals.seconds, 1e-9)
    return Timeline(
        phase=intervals.phase,
        time_s=intervals.time_s,
        seconds=seconds,
        tps=intervals.completed_committed / seconds,
        failed_per_s=intervals.completed_failed / seconds,
        latencies_ms=_latencies_ms(run),
    )


@once
def whole_intervals(run: Run) -> Timeline:
    """The timeline without intervals that were cut short, as charts over time use it."""
    return timeline(run).whole_intervals()


def completed(run: Run) -> int:
    """Transactions that were committed within the measured intervals, whenever they were due."""
    intervals = run.intervals
    return int(intervals.completed_committed[intervals.phase == "measure"].sum())


def _latencies_ms(run: Run) -> dict[str, Series]:
    """Percentiles as the engine gave them for one script; for several, from their buckets."""
    scripts = run.scripts
    intervals = len(run.intervals)
    if len(scripts) == intervals:
        return {name: getattr(scripts, name).astype(float) for name in (*PERCENTILES, "max_ms")}
    matrix = bucket_matrix(run.script_buckets, intervals)
    longest = np.full(intervals, np.nan)
    np.fmax.at(longest, scripts.interval, scripts.max_ms)
    named = {
        name: np.minimum(coarse_quantile_ms(matrix, share), longest)
        for name, share in PERCENTILES.items()
    }
    return {**named, "max_ms": longest}
