"""Compares two variants by their runs: for each metric an effect, its uncertainty and a verdict.

The run is the unit. Pairs (runs of one block) are compared by the differences within them, two
unpaired sets by Welch's test, two single runs by their costs, and by the size of a change that has
a reason (``large_changes.py``): one run does not show how runs vary. Other differences between the
variants are the concern of ``analysis/compare/unequal_conditions.py``.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from msgspec.structs import replace

from dbdyno.analysis.compare.changed_findings import changed_findings
from dbdyno.analysis.compare.large_changes import with_large_changes
from dbdyno.analysis.compare.metrics import (
    USUAL,
    Cell,
    MetricSamples,
    Runs,
    is_cost,
    metrics_of,
    ratio_of,
    samples_of,
    single_run_decides,
)
from dbdyno.analysis.compare.profile_differences import compare_profiles
from dbdyno.analysis.compare.verdicts import (
    ALPHA,
    alpha_of_next,
    verdict_of,
    verdict_sentence,
    verdict_within,
)
from dbdyno.analysis.doubts import DISTURBED, disturbed_text, kind_of
from dbdyno.analysis.statistics.effect import Effect, holm
from dbdyno.analysis.statistics.statistical_power import detectable, more_repeats
from dbdyno.model.comparison import (
    Comparison,
    Metric,
    MetricComparison,
    MovedCost,
    Repeats,
    Verdict,
)
from dbdyno.model.record import RunRecord
from dbdyno.model.study import MARGIN

CHANGE_MIN = 0.01
_RUNS_MIN = 2
# Kinds of doubt whose name alone says too little.
_KINDS = {
    "coarse": "throughput is known only imprecisely",
    "not observed": "without telemetry, disturbances are not known",
}


def compare(  # noqa: PLR0913 - what is compared, and how
    before: Sequence[RunRecord],
    after: Sequence[RunRecord],
    metrics: Sequence[str] | None = None,
    *,
    labels: tuple[str, str] = ("before", "after"),
    margin: float = MARGIN,
    paired: bool = False,
    cells: Sequence[Cell] = (),
    unequal: Sequence[str] = (),
    changed_plans: Sequence[str] = (),
    beside: Sequence[float] = (),
) -> Comparison:
    """Compare the second variant with the first.

    With ``paired``, runs at the same position are of one block; ``cells`` tell which, if one has
    pairs at several levels: they share its drift, and their mean is one pair. ``beside`` are the
    p-values of other tests that are judged together with these: of other variants against the same
    first one. Without ``metrics`` the usual ones are compared, and every cost of single runs that
    is not 0 in both.
    A metric that the runs of one side lack is left out, and reported as missing if it was
    requested, or if some runs have it and it is a usual one. ``changed_plans`` are statements with
    another plan, in words: a reason for which two single runs may differ much.
    """
    if paired and len(before) != len(after):
        raise ValueError("pairs need as many runs of one variant as of the other")
    first, second = ([metrics_of(record) for record in side] for side in (before, after))
    wanted = list(metrics) if metrics is not None else _usual(first, second)
    samples = {name: samples_of(name, first, second, paired=paired, cells=cells) for name in wanted}
    measured = [name for name in USUAL if any(name in run for run in (*first, *second))]
    asked = metrics if metrics is not None else measured
    missing = [name for name in asked if samples[name] is None]
    found = [one for one in samples.values() if one is not None]
    judged, by_size = _with_verdicts(found, margin, beside), ""
    if all(one.is_single for one in found):
        judged, by_size = with_large_changes(judged, changed_plans)
    moved = moved_costs(first, second, paired=paired) if metrics is None else []
    (profiles,) = compare_profiles([(before, after)], paired=paired)
    return Comparison(
        before=labels[0],
        after=labels[1],
        metrics=judged,
        unequal=list(unequal),
        findings=changed_findings(before, after, labels),
        moved=[one for one in moved if one.id not in wanted],
        server_subsystems=profiles.subsystems,
        server_functions=profiles.functions,
        doubts=[
            *filter(None, [disturbed_text([*before, *after])]),
            *(f"{name} was not measured in runs of both variants" for name in missing),
            *_doubts(found, by_size),
            *_doubts_of_runs([*before, *after]),
        ],
    )


def compare_levels(
    sides: Mapping[str, tuple[Sequence[RunRecord], Sequence[RunRecord]]],
    metric: str,
    margin: float = MARGIN,
    *,
    cells: Mapping[str, Sequence[Cell]],
) -> dict[str, MetricComparison]:
    """Compare one metric at several levels, each paired with the same reference, judged together.

    Each level is one test. Levels are compared only with the reference, not with each other.
    ``cells`` are those of each level's pairs, as in :func:`compare`.
    """
    samples = {
        level: samples_of(
            metric,
            *(list(map(metrics_of, side)) for side in both),
            paired=True,
            cells=cells[level],
        )
        for level, both in sides.items()
    }
    known = {level: one for level, one in samples.items() if one is not None}
    return dict(zip(known, _with_verdicts(list(known.values()), margin), strict=True))


def moved_costs(before: Runs, after: Runs, *, paired: bool = False) -> list[MovedCost]:
    """Costs that differ by more than chance (Holm over all of them), the largest change first.

    The cost of a transaction hardly varies with noise, so a cost that moved together with
    throughput shows where to look for the reason, though it need not be the reason. A change below
    1 % is ignored, however significant. ``paired`` as in ``compare``.
    """
    names = dict.fromkeys(name for run in (*before, *after) for name in run if is_cost(name))
    samples = [samples_of(name, before, after, paired=paired) for name in names]
    known = [one for one in samples if one and one.has_ratio and one.repeats >= _RUNS_MIN]
    tested = [(one.metric, one.effect()) for one in known]
    adjusted = holm([effect.p or 0.0 for _, effect in tested])
    moved = []
    for (metric, effect), p in zip(tested, adjusted, strict=True):
        if p < ALPHA and abs(math.expm1(effect.value)) >= CHANGE_MIN:
            ratio, low, high = np.exp([effect.value, effect.low, effect.high]).tolist()
            moved.append(
                MovedCost(id=metric.id, title=metric.title, ratio=ratio, low=low, high=high)
            )
    return sorted(moved, key=lambda one: -abs(math.log(one.ratio)))


def _usual(before: Runs, after: Runs) -> list[str]:
    if max(len(before), len(after)) > 1:
        return list(USUAL)
    all_metrics = (metric for run in (*before, *after) for metric in run.values())
    costs = (metric.id for metric in all_metrics if is_cost(metric.id) and metric.value)
    return list(dict.fromkeys([*USUAL, *costs]))


def _with_verdicts(
    samples: Sequence[MetricSamples], margin: float, beside: Sequence[float] = ()
) -> list[MetricComparison]:
    """Judge each; p-values are adjusted over all that have one, and over those of ``beside``."""
    effects = [
        _effect_within(one.before[0], one.after[0]) if one.is_single else one.effect()
        for one in samples
    ]
    chances = {
        place: effect.p
        for place, effect in enumerate(effects)
        if effect is not None and effect.p is not None
    }
    of_all = holm([*chances.values(), *beside])
    adjusted = dict(zip(chances, of_all, strict=False))
    alpha = alpha_of_next(of_all)
    return [
        _compared(one, effect, adjusted.get(place), margin, alpha)
        for place, (one, effect) in enumerate(zip(samples, effects, strict=True))
    ]


def _effect_within(before: Metric, after: Metric) -> Effect | None:
    """Effect of two single runs from their own intervals; only for costs: the rest is too noisy."""
    first, second = _reach(before), _reach(after)
    if first is None or second is None or not single_run_decides(before.id):
        return None
    reach = math.hypot(first, second)
    return Effect(math.log(after.value / before.value), reach, reach, "single runs")


def _reach(metric: Metric) -> float | None:
    """The larger half of the within-run interval, as a logarithm; None if it includes 0.

    The interval is symmetric about the value, so its logarithm reaches further down than up.
    """
    if metric.value <= 0 or not metric.low:
        return None
    return math.log(metric.value / metric.low)


def _compared(
    of: MetricSamples, effect: Effect | None, p_adjusted: float | None, margin: float, alpha: float
) -> MetricComparison:
    before, after = of.levels()
    verdict: Verdict = "cannot tell"
    if effect is not None:
        verdict = (
            verdict_within(effect, margin, of.metric.better)
            if p_adjusted is None
            else verdict_of(effect, p_adjusted, margin, of.metric.better)
        )
    found = MetricComparison(
        id=of.metric.id,
        title=of.metric.title,
        unit=of.metric.unit,
        better=of.metric.better,
        before=before,
        after=after,
        ratio=ratio_of(before, after),
        low=math.exp(effect.low) if effect and of.has_ratio else None,
        high=math.exp(effect.high) if effect and of.has_ratio else None,
        p=effect.p if effect else None,
        p_adjusted=p_adjusted,
        verdict=verdict,
        margin=margin,
        pairs=of.repeats,
        method=effect.method if effect else "none",
        detectable=_detectable(of, effect, alpha),
        repeats=_repeats(of, effect, margin, alpha) if verdict == "cannot tell" else None,
        sentence="",
    )
    return replace(found, sentence=verdict_sentence(found, of.runs_text))


def _detectable(of: MetricSamples, effect: Effect | None, alpha: float) -> float | None:
    if effect is None or effect.spread is None or of.repeats < 2 or not of.has_ratio:
        return None
    return math.exp(detectable(effect.spread, of.repeats, alpha))


def _repeats(
    of: MetricSamples, effect: Effect | None, margin: float, alpha: float
) -> Repeats | None:
    """Repeats needed to detect a change as large as was seen, and at least the margin."""
    if effect is None or effect.spread is None:
        return None
    least = math.log1p(margin)
    wanted = effect.value if abs(effect.value) > least else least
    return more_repeats(wanted, effect.spread, of.repeats, alpha)


def _doubts(samples: Sequence[MetricSamples], by_size: str) -> Iterator[str]:
    """What the numbers cannot reveal about how they were measured."""
    if by_size:
        yield by_size
    elif any(one.is_single for one in samples):
        yield (
            "one run of each: the intervals are within-run intervals, which understate how much "
            "runs differ; throughput, response times and context switches have none"
        )
    elif any(not one.paired for one in samples):
        yield "the runs are not paired: any drift of the host is confounded with the difference"
    if any(not one.is_single and one.repeats < 2 for one in samples):
        yield "one variant has a single run: its variance is assumed to be that of the other's runs"


def _doubts_of_runs(records: Sequence[RunRecord]) -> Iterator[str]:
    """Doubts about single runs, grouped by kind: the text before the colon."""
    kinds = Counter(kind_of(doubt) for record in records for doubt in record.doubts)
    del kinds[DISTURBED]
    return (
        f"{count} of {len(records)} runs: {_KINDS.get(kind, kind)}" for kind, count in kinds.items()
    )
