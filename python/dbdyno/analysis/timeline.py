"""What happened in each interval, over all scripts: the series that are judged and drawn."""

import numpy as np
from msgspec import Struct

from dbdyno.analysis.distributions import bucket_matrix, coarse_quantile_ms
from dbdyno.analysis.estimate import Series
from dbdyno.model.recording import Column, Recording

PERCENTILES = {"p50_ms": 0.5, "p95_ms": 0.95, "p99_ms": 0.99}
_FULL_SHARE = 0.5


class Timeline(Struct, frozen=True):
    """One element an interval; times in seconds since the end of the warm-up."""

    phase: Column
    time_s: Series
    seconds: Series
    tps: Series
    failed_per_s: Series
    latencies_ms: dict[str, Series]
    """``p50_ms``, ``p95_ms``, ``p99_ms`` and ``max_ms``; NaN where nothing ended."""

    @property
    def measured_tps(self) -> Series:
        """Throughput of the measured intervals; a last one cut short says too little to count."""
        measured = self.phase == "measure"
        typical = np.median(self.seconds[measured]) if measured.any() else 0.0
        whole: Series = self.tps[measured & (self.seconds >= typical * _FULL_SHARE)]
        return whole


def timeline(recording: Recording) -> Timeline:
    """The run's intervals."""
    intervals = recording.tables["intervals"]
    seconds = np.maximum(intervals["seconds"], 1e-9)
    return Timeline(
        phase=intervals["phase"],
        time_s=intervals["time_s"],
        seconds=seconds,
        tps=intervals["completed_ok"] / seconds,
        failed_per_s=intervals["completed_failed"] / seconds,
        latencies_ms=_latencies_ms(recording),
    )


def _latencies_ms(recording: Recording) -> dict[str, Series]:
    """Percentiles as the engine gave them for one script; for several, from their buckets."""
    scripts = recording.tables["scripts"]
    intervals = len(recording.tables["intervals"]["interval"])
    if len(scripts["interval"]) == intervals:
        return {name: scripts[name].astype(float) for name in (*PERCENTILES, "max_ms")}
    matrix = bucket_matrix(recording.tables["script_buckets"], intervals)
    named = {name: coarse_quantile_ms(matrix, share) for name, share in PERCENTILES.items()}
    longest = np.full(intervals, np.nan)
    np.fmax.at(longest, scripts["interval"], scripts["max_ms"])
    return {**named, "max_ms": longest}
