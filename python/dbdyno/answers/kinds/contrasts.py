"""Contrasts: the verdict on each pair of levels that the study compares, at each of its points.

A metric that is compared at one point has a sentence of its own; one compared at several points has
a sentence that summarizes them, and a table row for each. Where the data does not decide, the
number of further repeats that would is given.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from dbdyno.analysis.compare.verdicts import ALPHA, changes, ratio_text
from dbdyno.analysis.statistics.effect import simes
from dbdyno.answers.answer import Answer, Answered, Claim, TableOf, Trials
from dbdyno.answers.grouping import title_of
from dbdyno.answers.level_contrasts import Contrasted, Levels, contrasted, levels_text
from dbdyno.formatting import NOTHING, counted, percent, significant
from dbdyno.model.comparison import CHANGED, VERDICTS, MetricComparison, Repeats, Verdict

_HOPELESS = 10.0
"""A change this large needs no statistics; if not even it is detectable, that says enough."""

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
    return Answered(claims=list(_claims(trials, rows)), shown=[_table(trials, rows)])


def _claims(trials: Trials, rows: Sequence[Found]) -> Iterator[Claim]:
    """In the order of the contrasts, and of the metrics in each."""
    gathered: dict[tuple[str, ...], list[Found]] = {}
    for of, metric in rows:
        between = of.contrast
        name = (between.factor, between.before, between.after, metric.id)
        gathered.setdefault(name, []).append((of, metric))
    for of_metric in gathered.values():
        yield _single(trials, *of_metric[0]) if len(of_metric) == 1 else _several(trials, of_metric)


def _single(trials: Trials, of: Contrasted, metric: MetricComparison) -> Claim:
    """Doubts of all metrics of a comparison are stated with its first metric."""
    is_first = metric is of.comparison.metrics[0]
    shared = [*of.comparison.unequal, *of.comparison.doubts] if is_first else []
    return Claim(
        sentence=f"{_heading(trials, of)}{_at(of)}: {_lowered(metric.sentence)}",
        is_decided=metric.verdict != "cannot tell",
        effect=metric.ratio,
        low=metric.low,
        high=metric.high,
        doubt="; ".join([*shared, *_missed(metric)]),
        evidence={"metric": metric.id, "verdict": metric.verdict, "pairs": metric.pairs},
    )


def _several(trials: Trials, found: Sequence[Found]) -> Claim:
    """The points grouped by verdict, with the range of the changes seen."""
    factors = _varied([of.others for of, _ in found])
    parts = [
        _verdict_text(verdict, [one for one in found if one[1].verdict == verdict], factors)
        for verdict in VERDICTS
        if any(one[1].verdict == verdict for one in found)
    ]
    of, metric = found[0]
    metrics = [one for _, one in found]
    return Claim(
        sentence=f"{_heading(trials, of)}: {_lowered(metric.title)} {'; '.join(parts)}",
        is_decided=any(one.verdict == "same" for one in metrics) or _is_changed(metrics),
        doubt="; ".join([*_unequal(found), *_most_needed(metrics), *_by_chance(metrics)]),
        evidence={levels_text(at.others): one.verdict for at, one in found},
    )


def _varied(places: Sequence[Levels]) -> list[str]:
    """The factors in which these places differ; common levels are not worth mentioning."""
    return [name for name in places[0] if len({levels[name] for levels in places}) > 1]


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


def _unequal(found: Sequence[Found]) -> list[str]:
    """What differs at any of the points, each stated once."""
    return list(dict.fromkeys(line for of, _ in found for line in of.comparison.unequal))


def _is_changed(metrics: Sequence[MetricComparison]) -> bool:
    """Whether a change at one point or another is beyond chance, over all points together (Simes).

    Each point is a test of its own: of ten where nothing changes, two studies in five would have a
    change at one of them. A change that single runs decide has no p-value.
    """
    chances = [one.p_adjusted for one in metrics if one.p_adjusted is not None]
    by_single_runs = any(one.p_adjusted is None and one.verdict in CHANGED for one in metrics)
    return by_single_runs or simes(chances) < ALPHA


def _by_chance(metrics: Sequence[MetricComparison]) -> Iterator[str]:
    changes_seen = sum(one.verdict in CHANGED for one in metrics)
    if changes_seen and not _is_changed(metrics):
        yield (
            f"{counted(changes_seen, 'change')} among {len(metrics)} points may be due to chance: "
            "over all points together none is significant (Simes)"
        )


def _most_needed(metrics: Sequence[MetricComparison]) -> list[str]:
    needed = [metric.repeats.more for metric in metrics if metric.repeats]
    if not needed:
        return []
    least, most = min(needed), max(needed)
    more = counted(most, "more repeat") if least == most else f"{least} to {most} more repeats"
    return [f"{more} would decide what is undecided"]


def _heading(trials: Trials, of: Contrasted) -> str:
    """``Statement order branches-first against as-written``."""
    title = title_of(trials, of.contrast.factor)
    if "_" not in title:  # the name of a setting is written as the server has it
        title = f"{title[:1].upper()}{title[1:]}"
    return f"{title} {of.contrast.after} against {of.contrast.before}"


def _at(of: Contrasted) -> str:
    return f" at {levels_text(of.others)}" if of.others else ""


def _lowered(sentence: str) -> str:
    """A sentence after a colon, in lower case; names in capitals stay."""
    return sentence if sentence[:2].isupper() else sentence[:1].lower() + sentence[1:]


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


def _table(trials: Trials, rows: Sequence[Found]) -> TableOf:
    return TableOf(
        title="What was compared",
        columns=(
            "contrast",
            "at",
            "metric",
            "before",
            "after",
            "ratio",
            "95 % interval",
            "verdict",
            "to decide",
        ),
        rows=[
            (_heading(trials, of), levels_text(of.others) or "all", *_cells(metric))
            for of, metric in rows
        ],
        numeric=frozenset({3, 4, 5, 6}),
        note="Ratios are after over before, averaged over pairs of runs of one block; verdicts are "
        "corrected for multiple comparisons (Holm) over the metrics of a comparison and all levels "
        "compared with the same one, but not over rows with other levels in the column at. To "
        "decide: further repeats, with the 95 % interval of that number; dbdyno study resume makes "
        "them.",
    )


def _cells(metric: MetricComparison) -> tuple[str, ...]:
    interval = NOTHING
    if metric.low is not None and metric.high is not None:
        interval = f"{ratio_text(metric.low)} to {ratio_text(metric.high)}"
    return (
        f"{metric.title}, {metric.unit}",
        significant(metric.before),
        significant(metric.after),
        ratio_text(metric.ratio),
        interval,
        metric.verdict,
        _repeats_text(metric.repeats),
    )


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
