"""Two single runs that differ by far more than equal runs do, and whose plans or work say why.

This is no test: one run of each does not show how runs vary. It rests on three things together: the
size, which neither noise nor other programs usually reach; a reason, without which a disturbed host
would explain it as well; and the same direction of both. Only the direction is claimed.
"""

import math
from collections.abc import Sequence

from msgspec.structs import replace

from dbdyno.analysis.compare.metrics import RESPONSES, THROUGHPUT, single_run_decides
from dbdyno.analysis.compare.verdicts import change, verdict_sentence
from dbdyno.model.comparison import CHANGED, MetricComparison, Verdict

FACTOR = 4.0
"""How far a metric must be from the other run's, and the near end of its interval if it has one."""
WORK_FACTOR = 2.0
"""How far work per transaction must be from the other run's with its whole interval."""
# What the server does for a transaction; what the engine spends follows from the rate.
_WORK = ("server_cpu_us", "buffers_hit", "buffers_read", "rows_scanned")


def with_large_changes(
    metrics: Sequence[MetricComparison], changed_plans: Sequence[str]
) -> tuple[list[MetricComparison], str]:
    """The metrics of two single runs, the large changes with a verdict; and what they rest on.

    ``changed_plans`` are statements with another plan, in words. The second is empty if no verdict
    rests on size.
    """
    work = [
        metric
        for metric in metrics
        if metric.id in _WORK
        and metric.verdict in CHANGED
        and _nearest(metric) > math.log(WORK_FACTOR)
    ]
    judged = [_judged(metric, work, changed_plans) for metric in metrics]
    if judged == list(metrics):
        return judged, ""
    other_work = (f"{metric.title} {change(metric.ratio)}" for metric in work)
    reasons = "; ".join([*changed_plans, *other_work])
    return judged, (
        f"one run of each: changes to more than {FACTOR:g} times that have no other evidence are "
        f"judged by their size and their reason ({reasons}), which is not a test; how much further "
        "runs would differ is not known"
    )


def _judged(
    metric: MetricComparison, work: Sequence[MetricComparison], changed_plans: Sequence[str]
) -> MetricComparison:
    is_judged = metric.id == THROUGHPUT or metric.id in RESPONSES or single_run_decides(metric.id)
    is_large = is_judged and _nearest(metric) > math.log(FACTOR)
    if metric.verdict != "cannot tell" or not is_large:
        return metric
    is_more = metric.ratio > 1
    verdict: Verdict = "better" if is_more == (metric.better == "higher") else "worse"
    if not changed_plans and not any(one.verdict == verdict for one in work):
        return metric
    found = replace(metric, verdict=verdict, method="size")
    return replace(found, sentence=verdict_sentence(found, "one run of each, by the size"))


def _nearest(metric: MetricComparison) -> float:
    """The distance from no change of the nearest ratio that is possible; 0 if that includes it."""
    ends = [end for end in (metric.low, metric.high) if end is not None]
    ratios = ends or [metric.ratio]
    if not all(0 < ratio < math.inf for ratio in ratios):
        return 0.0
    logs = [math.log(ratio) for ratio in ratios]
    return min(map(abs, logs)) if all(one > 0 for one in logs) or max(logs) < 0 else 0.0
