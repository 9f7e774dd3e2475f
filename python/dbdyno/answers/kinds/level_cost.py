"""What the other levels of a factor cost against one of them, in each variant.

The metric is throughput, or another of which more is better. All levels of all variants are judged
together, each over all levels of ``over``. ``answers/variant_pairs.py`` describes how.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from dbdyno.analysis.compare.metrics import THROUGHPUT
from dbdyno.answers.answer import Answer, Answered, Claim, Trial, Trials
from dbdyno.answers.grouping import by_level, chosen, title_of
from dbdyno.answers.intervals import INTERVAL_NOTE, interval_text, lowered, times_of
from dbdyno.answers.measuring import Number, metric_of, metric_title, over_runs, ratio_of
from dbdyno.answers.tables import table
from dbdyno.answers.variant_pairs import DuelResult, VariantPair, duel_results, turn_text
from dbdyno.formatting import percent
from dbdyno.model.study import MARGIN

_SAME = f"the same within ±{percent(MARGIN)}"


def answer(trials: Trials, options: Mapping[str, Any]) -> Answered:
    """The verdict on all variants in one sentence, then one claim per level."""
    factor, reference = str(options["factor"]), str(options["reference"])
    by, over = str(options.get("by", "")), str(options.get("over", ""))
    metric = str(options.get("metric", THROUGHPUT))
    number, among = metric_of(metric), chosen(trials, options.get("at"))
    variants = by_level(trials, among, by) if by else {"": among}
    duels = [
        VariantPair(_named(trials, by, variant), reference, level, of, factor, over)
        for variant, of in variants.items()
        for level in by_level(trials, of, factor)
        if level != reference
    ]
    results = duel_results(duels, number)
    if not results:
        return Answered(claims=[], missing=f"no runs of {reference} and another level of {factor}")
    name, _, unit = metric_title(among, metric).partition(", ")
    levels = {one.duel.second: _named(trials, factor, one.duel.second) for one in results}

    def mean_text(side: Iterable[Trial]) -> str:
        return interval_text(over_runs(side, number))

    shown = table(
        f"Each level beside {reference}",
        [(one.duel, at, here) for one in results for at, here in one.duel.by_level().items()],
        {
            **({title_of(trials, by): lambda row: row[0].load} if by else {}),
            title_of(trials, factor): lambda row: row[0].second,
            **({title_of(trials, over): lambda row: row[1]} if over else {}),
            f"{unit} at {reference}": lambda row: mean_text(one for one, _ in row[2]),
            unit: lambda row: mean_text(other for _, other in row[2]),
            "ratio": lambda row: interval_text(ratio_of(row[2], number)),
        },
        texts={title_of(trials, by), title_of(trials, factor)},
        note=INTERVAL_NOTE,
    )
    what = f"{name} against {_named(trials, factor, reference)}"
    mean = f", on average over {title_of(trials, over)}" if over else ""
    verdict = _verdict(f"{what}{mean}", results, levels)
    return Answered(
        claims=[verdict, *(_claim(one, lowered(name), number, levels) for one in results)],
        shown=[shown],
    )


def _named(trials: Trials, factor: str, level: str) -> str:
    """A level in a sentence; a number alone does not say what it is the number of."""
    is_number = level.replace(".", "", 1).isdigit()
    return f"{title_of(trials, factor)} {level}" if is_number else level


def _verdict(what: str, results: Sequence[DuelResult], levels: Mapping[str, str]) -> Claim:
    """All variants in one sentence; decided if any level of any of them is."""
    unclear = {"same": _SAME, "cannot tell": "not to be told apart"}
    variants = [
        f"{variant} ".lstrip()
        + ", ".join(
            f"{unclear.get(one.verdict) or times_of(one.ratio)} at {levels[one.duel.second]}"
            for one in of
        )
        for variant, of in groupby(results, lambda one: one.duel.load)
    ]
    undecided = [one for one in results if not one.is_decided]
    return Claim(
        sentence=f"{what}: {'; '.join(variants)}.",
        is_decided=len(undecided) < len(results),
        undecided=", ".join(_case(one, levels) for one in undecided),
        doubt=" ".join(f"{_case(one, levels)}: {one.lack}" for one in undecided),
    )


def _case(one: DuelResult, levels: Mapping[str, str]) -> str:
    return f"{one.duel.load} {levels[one.duel.second]}".lstrip()


def _claim(one: DuelResult, noun: str, number: Number, levels: Mapping[str, str]) -> Claim:
    duel = one.duel
    text = f"{noun} of {times_of(one.ratio)} that of {duel.first}"
    if one.verdict == "same":
        text = f"{_SAME}: {text}"
    elif not one.is_decided:
        text = f"not to be told apart from {duel.first}: {text}"
    doubts = (one.lack, turn_text(one, number), duel.left_out_text(number))
    return Claim(
        sentence=f"{_case(one, levels)}: {text}.",
        is_decided=one.is_decided,
        effect=one.ratio.value,
        low=one.ratio.low,
        high=one.ratio.high,
        doubt=" ".join(filter(None, doubts)),
        evidence={"p_adjusted": one.p, "pairs": len(duel.pairs())},
    )


ANSWER = Answer(
    id="level-cost",
    title="What each level costs",
    options={
        "factor": "the factor whose levels are compared",
        "reference": "the level with which the others are compared",
        "by": "a factor of variants, with a claim for each of their levels",
        "over": "a factor over whose levels the metric is averaged",
        "metric": "the id of a metric of which more is better; default: throughput_tps",
        "at": "levels of other factors",
    },
    answer=answer,
)
