"""What a run measured in all: its time, transactions and throughput, and the time of what happened.

Also of a run that was interrupted: its counts are then those of the last interval.
"""

from collections.abc import Iterable, Sequence

import numpy as np
from msgspec import Struct

from dbdyno.analysis.series.distributions import is_after_warmup
from dbdyno.analysis.series.planned_load import without_stage_means
from dbdyno.analysis.series.timeline import are_whole, completed, timeline
from dbdyno.analysis.statistics.estimate import SAMPLES_MIN, Estimate, estimate_mean
from dbdyno.model.record import RateRecord, Throughput, TransactionCounts
from dbdyno.model.run import Run, once
from dbdyno.model.tables import Latencies


@once
def duration_s(run: Run) -> float:
    """For how long it measured, by the engine's clock; as far as it came if it did not end."""
    if run.record.imported:
        return run.record.duration_s or 0.0
    if run.engine.done:
        return run.engine.done.measured_ns / 1e9
    over_time = timeline(run)
    return float(over_time.seconds[over_time.phase == "measure"].sum())


def paused_s(run: Run) -> float:
    """For how long the load generator stood still while it measured."""
    intervals = run.intervals
    return float(intervals.paused_us[intervals.phase == "measure"].sum() / 1e6)


def last_counts(run: Run, names: Iterable[str]) -> dict[str, int]:
    """The engine's last counts of these names."""
    if run.engine.done:
        return {name: getattr(run.engine.done.counters, name) for name in names}
    last = {name: getattr(run.intervals, name)[-1:].tolist() for name in names}
    return {name: found[0] if found else 0 for name, found in last.items()}


@once
def transactions(run: Run) -> TransactionCounts:
    """How the transactions of the measured part ended."""
    if run.record.imported and run.record.transactions:
        return run.record.transactions
    return TransactionCounts(**last_counts(run, TransactionCounts.__struct_fields__))


@once
def throughput(run: Run) -> Throughput:
    """The value is completed / time, exactly; the interval comes from the samples.

    It uses the variation around the mean of each stage: differences between stages are planned.
    There is none for fewer than five transactions, however many samples saw nothing; and as a
    measurement begins and ends within transactions, it reaches at least one of them to either side.
    """
    if run.record.imported and run.record.throughput_tps:
        return run.record.throughput_tps
    done, measured_s = completed(run), duration_s(run)
    return _throughput(run, done / measured_s if measured_s else 0.0, done, measured_s)


def scattered_throughput(run: Run, printed_tps: float | None) -> Throughput | None:
    """Throughput of an imported run with progress lines: how the rate that was printed scattered.

    Without one, as in a text that was cut off, it is the mean of the lines.
    """
    intervals = run.intervals
    measured_s, done = float(intervals.seconds.sum()), completed(run)
    if not measured_s:
        return None
    value = done / measured_s if printed_tps is None else printed_tps
    return _throughput(run, value, done, measured_s)


def _throughput(run: Run, value: float, done: int, measured_s: float) -> Throughput:
    measured = timeline(run).measured()
    tps = measured.tps
    scattered = without_stage_means(run.plan, measured.time_s, tps)
    mean = estimate_mean(scattered) if done >= SAMPLES_MIN else None
    half = _half(mean, measured_s)
    variation = None
    if len(scattered) > 1 and scattered.mean():
        variation = float(scattered.std(ddof=1) / scattered.mean())
    return Throughput(
        value=value,
        low=max(value - half, 0.0) if mean else None,
        high=value + half if mean else None,
        min=float(tps.min()) if len(tps) else None,
        max=float(tps.max()) if len(tps) else None,
        samples=len(tps),
        samples_effective=mean.samples_effective if mean else None,
        coefficient_of_variation=variation,
    )


def scripts_rate(
    run: Run, numbers: Sequence[int], seconds: float, committed: Sequence[int] = ()
) -> RateRecord:
    """How many transactions of these scripts ended without an error in so many seconds.

    Those that became due in the measured part, also if they were rolled back by the script; of the
    ``committed`` ones of these scripts, only if they were not.
    """
    measured_s, scripts, intervals = duration_s(run), run.scripts, run.intervals
    counted = np.where(np.isin(scripts.script, committed), scripts.committed, scripts.ok)
    counted = np.where(np.isin(scripts.script, numbers), counted, 0)
    done = int(counted[is_after_warmup(run, scripts)].sum())
    value = done / measured_s if measured_s else 0.0
    is_whole = are_whole(intervals.seconds) & (intervals.phase == "measure")
    place = np.searchsorted(intervals.interval, scripts.interval)
    ended = np.bincount(place, weights=counted, minlength=len(intervals.interval))
    rates = ended[is_whole] / intervals.seconds[is_whole]
    scattered = without_stage_means(run.plan, intervals.time_s[is_whole], rates)
    mean = estimate_mean(scattered) if done >= SAMPLES_MIN else None
    half = _half(mean, measured_s)
    return RateRecord(
        value=value * seconds,
        low=max(value - half, 0.0) * seconds if mean else None,
        high=(value + half) * seconds if mean else None,
    )


def _half(mean: Estimate | None, measured_s: float) -> float:
    """Half of the interval of a rate: it reaches at least one transaction to either side."""
    return max(mean.high - mean.value, 1 / measured_s) if mean else 0.0


class TimeTotal(Struct, frozen=True):
    """The number of occurrences, and the sum of their times."""

    count: int
    seconds: float


def measured_total(run: Run, table: Latencies) -> TimeTotal:
    """Total of a table's rows in measured intervals; a row without a known time adds no seconds."""
    return _total(run, table, ("measure",))


def total_with_drain(run: Run, table: Latencies) -> TimeTotal:
    """The same, including what was due in the measured part and ended after it."""
    return _total(run, table, ("measure", "drain"))


def _total(run: Run, table: Latencies, phases: tuple[str, ...]) -> TimeTotal:
    of_phases = run.intervals.interval[np.isin(run.intervals.phase, phases)]
    wanted = np.isin(table.interval, of_phases)
    counts, mean_ms = table.count[wanted], table.mean_ms[wanted].astype(float)
    return TimeTotal(int(counts.sum()), float(np.nansum(counts * mean_ms)) / 1e3)
