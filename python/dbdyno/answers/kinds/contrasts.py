"""Contrasts: the verdict on each pair of levels that the study compares, at each of its points.

A metric that is compared at one point has a sentence of its own; one compared at several points has
a sentence that summarizes them, and a table row for each. Where the data does not decide, the
number of further repeats that would is given.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from dbdyno.analysis.compare.verdicts import ALPHA, changes, ratio_text
from dbdyno.analysis.statistics.effect import simes
from dbdyno.answers.answer import Answer, Answered, Claim, Trials
from dbdyno.answers.intervals import lowered, range_text
from dbdyno.answers.level_contrasts import Contrasted, contrasted, heading, levels_text
from dbdyno.answers.tables import table
from dbdyno.formatting import NOTHING, counted, percent, significant
from dbdyno.model.comparison import CHANGED, VERDICTS, MetricComparison, Repeats, Verdict

_HOPELESS = 10.0
"""A change this large needs no statistics; if not even it is detectable, that says enough."""

NOTE = (
    "Ratios are after over before, averaged over pairs of runs of one block; verdicts are "
    "corrected for multiple comparisons (Holm) over the metrics of a comparison and all levels "
    "compared with the same one, but not over rows with other levels in the column at. To decide: "
    "further repeats, with the 95 % interval of that number; dbdyno study resume makes them."
)

Found: TypeAlias = tuple[Contrasted, MetricComparison]


def answer(trials: Trials, options: Mapping[str, Any]) -> Answered:
    """One claim for each metric of each contrast."""
    factor = options.get("factor")
    found = [one for one in contrasted(trials) if factor in (None, one.contrast.factor)]
    if not found:
        return Answered(claims=[], missing="no block has runs of both sides of a contrast")
    rows = [(of, metric) for of in found for metric in of.comparison.metrics]
    if not rows:
        unmeasured = "; ".join(dict.fromkeys(one for of in found for one in of.comparison.doubts))
        return Answered(claims=[], missing=f"no metric can be compared: {unmeasured}")
    gathered: dict[tuple[str, ...], list[Found]] = {}
    for of, metric in rows:
        between = of.contrast
        name = (between.factor, between.before, between.after, metric.id)
        gathered.setdefault(name, []).append((of, metric))
    claims = [
        _single(trials, *at[0]) if len(at) == 1 else _several(trials, at)
        for at in gathered.values()
    ]
    shown = table(
        "What was compared",
        rows,
        {
            "contrast": lambda row: heading(trials, row[0]),
            "at": lambda row: levels_text(row[0].others) or "all",
            "metric": lambda row: f"{row[1].title}, {row[1].unit}",
            "before": lambda row: significant(row[1].before),
            "after": lambda row: significant(row[1].after),
            "ratio": lambda row: ratio_text(row[1].ratio),
            "95 % interval": lambda row: range_text(row[1], ratio_text),
            "verdict": lambda row: row[1].verdict,
            "to decide": lambda row: _repeats_text(row[1].repeats),
        },
        texts=("contrast", "at", "metric", "verdict", "to decide"),
        note=NOTE,
    )
    return Answered(claims=claims, shown=[shown])


def _single(trials: Trials, of: Contrasted, metric: MetricComparison) -> Claim:
    """Doubts of all metrics of a comparison are stated with its first metric."""
    is_first = metric is of.comparison.metrics[0]
    shared = [*of.comparison.unequal, *of.comparison.doubts] if is_first else []
    at = f" at {levels_text(of.others)}" if of.others else ""
    return Claim(
        sentence=f"{heading(trials, of)}{at}: {lowered(metric.sentence)}",
        is_decided=metric.verdict != "cannot tell",
        effect=metric.ratio,
        low=metric.low,
        high=metric.high,
        doubt="; ".join([*shared, *_missed(metric)]),
        evidence={"metric": metric.id, "verdict": metric.verdict, "pairs": metric.pairs},
    )


def _several(trials: Trials, found: Sequence[Found]) -> Claim:
    """The points grouped by verdict, with the range of the changes seen."""
    # The factors in which these places differ; common levels are not worth mentioning.
    others = [of.others for of, _ in found]
    factors = [name for name in others[0] if len({levels[name] for levels in others}) > 1]
    parts = [
        _verdict_text(verdict, [one for one in found if one[1].verdict == verdict], factors)
        for verdict in VERDICTS
        if any(one[1].verdict == verdict for one in found)
    ]
    of, metric = found[0]
    metrics = [one for _, one in found]
    doubts = [*dict.fromkeys(line for of, _ in found for line in of.comparison.unequal)]
    if needed := [one.repeats.more for one in metrics if one.repeats]:
        least, most = min(needed), max(needed)
        more = counted(most, "more repeat") if least == most else f"{least} to {most} more repeats"
        doubts.append(f"{more} would decide what is undecided")
    seen = sum(one.verdict in CHANGED for one in metrics)
    if seen and not _is_changed(metrics):
        doubts.append(
            f"{counted(seen, 'change')} among {len(metrics)} points may be due to chance: "
            "over all points together none is significant (Simes)"
        )
    return Claim(
        sentence=f"{heading(trials, of)}: {lowered(metric.title)} {'; '.join(parts)}",
        is_decided=any(one.verdict == "same" for one in metrics) or _is_changed(metrics),
        doubt="; ".join(doubts),
        evidence={levels_text(at.others): one.verdict for at, one in found},
    )


def _verdict_text(verdict: Verdict, found: Sequence[Found], factors: Sequence[str]) -> str:
    """``got worse at clients 4, 20 (…)``; with several factors ``at engine/clients postgres/4, …``.

    In the past tense, which is the same for plural metrics (rows written) and singular ones.
    """
    levels = ", ".join("/".join(of.others[name] for name in factors) for of, _ in found)
    places = f"{'/'.join(factors)} {levels}"
    ratios = [metric.ratio for _, metric in found]
    span = changes(min(ratios), max(ratios))
    if verdict == "same":
        return f"stayed the same within ±{percent(found[0][1].margin)} at {places} ({span})"
    if verdict == "cannot tell":
        return f"could not be told apart at this sample size at {places} ({span})"
    return f"got {verdict} at {places} ({span})"


def _is_changed(metrics: Sequence[MetricComparison]) -> bool:
    """Whether a change at one point or another is beyond chance, over all points together (Simes).

    Each point is a test of its own: of ten where nothing changes, two studies in five would have a
    change at one of them. A change that single runs decide has no p-value.
    """
    chances = [one.p_adjusted for one in metrics if one.p_adjusted is not None]
    by_single_runs = any(one.p_adjusted is None and one.verdict in CHANGED for one in metrics)
    return by_single_runs or simes(chances) < ALPHA


def _missed(metric: MetricComparison) -> Iterator[str]:
    """The smallest change that could have been detected."""
    if metric.verdict != "cannot tell" or metric.detectable is None:
        return
    if metric.detectable > _HOPELESS:
        noisy = f"{metric.pairs} pairs as noisy as these"
        yield f"{noisy} do not detect even a factor of {_HOPELESS:.0f}"
    else:
        found = f"a change of {percent(metric.detectable - 1)} with 80 % power"
        yield f"{metric.pairs} pairs detect {found}"


def _repeats_text(repeats: Repeats | None) -> str:
    if repeats is None:
        return NOTHING
    most = "or more" if repeats.high is None else f"to {repeats.high}"
    return f"{repeats.more} ({repeats.low} {most})"


ANSWER = Answer(
    id="contrasts",
    title="What differs",
    options={"factor": "only the contrasts of this factor"},
    answer=answer,
)
