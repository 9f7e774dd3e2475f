"""What the other levels of a factor cost in throughput against one of them, in each variant.

All levels of all variants are judged together, each over all levels of ``over``.
``answers/variant_pairs.py`` describes how a comparison is judged.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from dbdyno.analysis.compare.compare import MARGIN
from dbdyno.answers.answer import Answer, Answered, Claim, Trial, Trials
from dbdyno.answers.grouping import by_level, chosen, title_of
from dbdyno.answers.intervals import INTERVAL_NOTE, interval_text, times_of
from dbdyno.answers.measuring import over_runs, ratio_of, throughput
from dbdyno.answers.tables import table
from dbdyno.answers.variant_pairs import DuelResult, VariantPair, duel_results, turn_text
from dbdyno.formatting import percent, tps


def answer(trials: Trials, options: Mapping[str, Any]) -> Answered:
    """The verdict on all variants in one sentence, then one claim per level."""
    factor, reference, by, over = (
        str(options[name]) for name in ("factor", "reference", "by", "over")
    )
    variants = by_level(trials, chosen(trials, options.get("at")), by)
    duels = [
        VariantPair(variant, reference, level, among, factor, over)
        for variant, among in variants.items()
        for level in by_level(trials, among, factor)
        if level != reference
    ]
    results = duel_results(duels, throughput)
    if not results:
        return Answered(claims=[], missing=f"no runs of {reference} and another level of {factor}")
    title = title_of(trials, over)
    shown = table(
        f"Each level beside {reference}",
        [(one.duel, at, here) for one in results for at, here in one.duel.by_level().items()],
        {
            "variant": lambda row: row[0].load,
            "level": lambda row: row[0].second,
            title: lambda row: row[1],
            f"TPS of {reference}": lambda row: _mean_text(one for one, _ in row[2]),
            "TPS": lambda row: _mean_text(other for _, other in row[2]),
            "ratio": lambda row: interval_text(ratio_of(row[2], throughput)),
        },
        texts={"variant", "level"},
        note=INTERVAL_NOTE,
    )
    return Answered(
        claims=[_verdict(results, title), *map(_claim, results)],
        shown=[shown],
    )


def _verdict(results: Sequence[DuelResult], over: str) -> Claim:
    """All variants in one sentence; decided if any level of any of them is."""
    has_levels = any(len(one.duel.by_level()) > 1 for one in results)
    mean = f", on average over {over}," if has_levels else ""
    same = {"same": f"the same within ±{percent(MARGIN)}", "cannot tell": "not to be told apart"}
    levels = {
        _name(one): f"{same.get(one.verdict) or times_of(one.ratio)} at {one.duel.second}"
        for one in results
    }
    variants = [
        f"on {variant} {', '.join(levels[_name(one)] for one in of)}"
        for variant, of in groupby(results, lambda one: one.duel.load)
    ]
    undecided = [one for one in results if not one.is_decided]
    return Claim(
        sentence=f"Against {results[0].duel.first}, throughput{mean} is {'; '.join(variants)}.",
        is_decided=len(undecided) < len(results),
        undecided=", ".join(map(_name, undecided)),
        doubt=" ".join(f"{_name(one)}: {one.lack}" for one in undecided),
    )


def _mean_text(among: Iterable[Trial]) -> str:
    return interval_text(over_runs(among, throughput), tps)


def _name(one: DuelResult) -> str:
    return f"{one.duel.load} {one.duel.second}"


def _claim(one: DuelResult) -> Claim:
    duel = one.duel
    text = f"{duel.second} has {times_of(one.ratio)} the throughput of {duel.first}"
    if one.verdict == "same":
        text = f"both are the same within ±{percent(MARGIN)} ({text})"
    elif not one.is_decided:
        text = f"cannot be told apart ({text})"
    doubts = (one.lack, turn_text(one, throughput), duel.left_out_text(throughput))
    return Claim(
        sentence=f"{duel.load}: {text}.",
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
        "by": "the factor of the variants, with a claim for each of their levels",
        "over": "a factor over whose levels throughput is averaged",
        "at": "levels of other factors",
    },
    answer=answer,
)
