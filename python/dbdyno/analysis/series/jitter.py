"""Throughput variation as one number: the coefficient of variation of 1 s samples.

Shorter intervals are first combined to one second, because counting noise alone makes samples of a
quarter of a second vary twice as much. The causes of the variation are not examined here.
"""

from dbdyno.analysis.series.timeline import Timeline
from dbdyno.analysis.statistics.estimate import Series, median

SAMPLES_MIN = 3
_LONGEST_S = 1.5


def jitter(over_time: Timeline) -> float | None:
    """Standard deviation / mean; None for fewer than three samples or intervals over one second."""
    samples = seconds_of(over_time)
    if samples is None or len(samples) < SAMPLES_MIN or not samples.mean():
        return None
    return float(samples.std(ddof=1) / samples.mean())


def seconds_of(over_time: Timeline) -> Series | None:
    """Transactions per second in each second that was measured whole."""
    whole = over_time.whole_intervals()
    measured = whole.phase == "measure"
    lengths_s, tps = whole.seconds[measured], whole.tps[measured]
    if not len(tps) or median(lengths_s) > _LONGEST_S:
        return None
    together = max(round(1 / median(lengths_s)), 1)
    kept = len(tps) // together * together
    seconds: Series = tps[:kept].reshape(-1, together).mean(axis=1)
    return seconds
