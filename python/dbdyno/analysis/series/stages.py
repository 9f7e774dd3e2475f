"""The results of each stage of a load that changes by plan.

The numbers of the whole run mix all stages, which is a load that nobody requested.
"""

import numpy as np

from dbdyno.analysis.series.planned_load import has_stages, stage_at
from dbdyno.analysis.series.timeline import Timeline
from dbdyno.analysis.statistics.estimate import Series, median
from dbdyno.model.plan import Plan
from dbdyno.model.record import StageRecord


def stages_of(plan: Plan, measured: Timeline) -> list[StageRecord]:
    """The stages in order; empty for a constant load."""
    if not has_stages(plan) or not len(measured.tps):
        return []
    number = stage_at(plan, measured.time_s)
    masks = [number == at for at in range(len(plan.stages))]
    return [
        StageRecord(
            duration_s=(planned.duration_ns or 0) / 1e9,
            clients=planned.clients,
            rate_tps=planned.rate_tps,
            tps=_mean(measured.tps[within], measured.seconds[within]),
            failed_per_s=_mean(measured.failed_per_s[within], measured.seconds[within]),
            p50_ms=_median(measured.latencies_ms["p50_ms"][within]),
            p99_ms=_median(measured.latencies_ms["p99_ms"][within]),
        )
        for planned, within in zip(plan.stages, masks, strict=True)
    ]


def _mean(per_s: Series, length_s: Series) -> float | None:
    return float(np.average(per_s, weights=length_s)) if len(per_s) else None


def _median(times_ms: Series) -> float | None:
    """The median over the intervals in which something completed."""
    known_ms = times_ms[~np.isnan(times_ms)]
    return median(known_ms) if len(known_ms) else None
