"""Two variants against each other over many loads: who wins where, and by how much.

For each kind of load the ratio of throughputs is taken at every level of ``over`` (clients), and
their geometric mean in each block is one sample: levels of one block share what drifted. With
``by`` loads there are so many tests, and Holm's adjustment counts that. The table's single rows
are pairs of few runs each, shown with their intervals and not judged.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from dbdyno.analysis.compare import MARGIN
from dbdyno.analysis.effect import Effect, Ratio, holm, paired_effect
from dbdyno.analysis.power import more_repeats
from dbdyno.answers.answer import (
    Answer,
    Answered,
    Claim,
    CurveOf,
    CurveSeries,
    TableOf,
    Trial,
    Trials,
)
from dbdyno.answers.grouping import (
    INTERVAL_NOTE,
    Number,
    by_level,
    chosen,
    interval_words,
    over_runs,
    p95_ms,
    pairs,
    ratio_of,
    throughput,
    times_of,
    title_of,
)
from dbdyno.answers.measuring import series_over
from dbdyno.explain.words import amount
from dbdyno.words import NOTHING, milliseconds, percent

ALPHA = 0.05


class _Duel(Struct, frozen=True):
    """Two variants under one kind of load; ratios are the second's over the first's."""

    load: str
    first: str
    second: str
    among: Sequence[Trial]
    factor: str
    over: str

    def ratio(self, number: Number) -> Ratio | None:
        """Over all levels of ``over`` together."""
        effect = self.effect(number)
        if effect is not None:
            return Ratio(math.exp(effect.value), math.exp(effect.low), math.exp(effect.high))
        return ratio_of(self.pairs(), number)

    def pairs(self) -> list[tuple[Trial, Trial]]:
        """The two of each block and level."""
        return pairs(self.among, self.factor, self.first, self.second)

    def side(self, place: int) -> list[Trial]:
        """The runs of one of the two, also those whose counterpart failed."""
        name = (self.first, self.second)[place]
        return [trial for trial in self.among if trial.point.get(self.factor) == name]

    def effect(self, number: Number) -> Effect | None:
        """With the block as the unit; None where there are not two of them."""
        by_block: dict[int, list[float]] = {}
        for first, second in self.pairs():
            before, after = number(first), number(second)
            if before and after:
                by_block.setdefault(first.block, []).append(math.log(after / before))
        means = np.array([np.mean(logarithms) for logarithms in by_block.values()])
        return paired_effect(means) if len(means) > 1 else None


def answer(trials: Trials, options: Mapping[str, Any]) -> Answered:
    """The verdict of all loads in one sentence, then one claim a load, and the curves."""
    duels = list(_duels(trials, options))
    if not duels:
        return Answered(claims=[], missing=f"no runs of two levels of {options['factor']}")
    chances = _chances(duels, throughput)
    claims = [_claim(duel, p) for duel, p in zip(duels, chances, strict=True)]
    tails = [_tail_claim(duel, p) for duel, p in zip(duels, _chances(duels, p95_ms), strict=True)]
    over = title_of(trials, str(options["over"]))
    return Answered(
        claims=[_verdict(duels, claims), *claims, *tails],
        shown=[_table(duels, over), *(curve for duel in duels for curve in _curves(duel, over))],
    )


def _duels(trials: Trials, options: Mapping[str, Any]) -> Iterator[_Duel]:
    factor, by, over = (str(options[name]) for name in ("factor", "by", "over"))
    for load, among in by_level(trials, chosen(trials, options.get("at")), by).items():
        sides = list(by_level(trials, among, factor))
        if len(sides) > 1:
            yield _Duel(load, sides[0], sides[1], among, factor, over)


def _chances(duels: Sequence[_Duel], number: Number) -> list[float | None]:
    """The p of each load, adjusted for their number; None where nothing can be tested."""
    effects = enumerate(duel.effect(number) for duel in duels)
    known = {place: of.p for place, of in effects if of is not None and of.p is not None}
    adjusted = dict(zip(known, holm(list(known.values())), strict=True))
    return [adjusted.get(place) for place in range(len(duels))]


def _claim(duel: _Duel, p: float | None) -> Claim:
    ratio = duel.ratio(throughput)
    if ratio is None:
        return Claim(sentence=f"{duel.load}: no pair of runs.", told=False)
    is_told = p is not None and p < ALPHA and abs(ratio.value - 1) > MARGIN
    return Claim(
        sentence=f"{duel.load}: {_ahead_words(duel, ratio, is_told=is_told)}.",
        told=is_told,
        effect=ratio.value,
        low=ratio.low,
        high=ratio.high,
        doubt="" if is_told else _lack(duel.effect(throughput)),
        evidence={"p_adjusted": p, "pairs": len(duel.pairs())},
    )


def _ahead_words(duel: _Duel, ratio: Ratio, *, is_told: bool) -> str:
    if not is_told:
        told = f"{duel.second} has {times_of(ratio)} the throughput of {duel.first}"
        return f"cannot be told apart ({told})"
    if ratio.value > 1:
        return f"{duel.second} has {times_of(ratio)} the throughput of {duel.first}"
    return f"{duel.first} has {times_of(_inverse(ratio))} the throughput of {duel.second}"


def _inverse(ratio: Ratio) -> Ratio:
    low, high = ratio.low, ratio.high
    return Ratio(1 / ratio.value, high and 1 / high, low and 1 / low)


def _lack(effect: Effect | None) -> str:
    """What it would take to tell."""
    if effect is None or effect.spread is None:
        return "A single block tells nothing of how runs differ: repeat it."
    wanted = max(abs(effect.value), math.log1p(MARGIN))
    blocks = round(effect.spread.freedom) + 1
    needed = more_repeats(wanted, effect.spread, blocks, ALPHA)
    most = "or more" if needed.high is None else f"to {needed.high}"
    return (
        f"About {amount(needed.more, 'more repeat', 'more repeats')} ({needed.low} {most}) would "
        f"be needed to find {percent(needed.finds)} four times in five."
    )


def _tail_claim(duel: _Duel, p: float | None) -> Claim:
    ratio = duel.ratio(p95_ms)
    if ratio is None:
        return Claim(sentence=f"{duel.load}: no response times in both.", told=False)
    is_told = p is not None and p < ALPHA and abs(ratio.value - 1) > MARGIN
    change = "higher" if ratio.value > 1 else "lower"
    told = f"{duel.second}'s 95th percentile is {percent(abs(ratio.value - 1))} {change}"
    return Claim(
        sentence=f"{duel.load}: {told if is_told else '95th percentiles cannot be told apart'} "
        f"({times_of(ratio)} that of {duel.first}).",
        told=is_told,
        effect=ratio.value,
        low=ratio.low,
        high=ratio.high,
        doubt="" if is_told else _lack(duel.effect(p95_ms)),
    )


def _verdict(duels: Sequence[_Duel], claims: Sequence[Claim]) -> Claim:
    """All loads in one sentence, by who is ahead; told when any is."""
    told = [(duel, one) for duel, one in zip(duels, claims, strict=True) if one.told]
    untold = {duel.load: one.doubt for duel, one in zip(duels, claims, strict=True) if not one.told}
    first, second = duels[0].first, duels[0].second
    parts = [
        *_lead(second, [(duel, Ratio(one.effect or 1, one.low, one.high)) for duel, one in told]),
        *_lead(
            first,
            [(duel, _inverse(Ratio(one.effect or 1, one.low, one.high))) for duel, one in told],
        ),
    ]
    if untold:
        parts.append(f"{first} and {second} cannot be told apart in {', '.join(untold)}")
    return Claim(
        sentence=f"In throughput {'; '.join(parts)}.",
        told=bool(told),
        doubt=" ".join(f"{load}: {doubt}" for load, doubt in untold.items()),
    )


def _lead(name: str, ratios: Sequence[tuple[_Duel, Ratio]]) -> list[str]:
    """Where a variant is ahead; ``ratios`` are its own over the other's."""
    ahead = [f"{duel.load}, {times_of(ratio)}" for duel, ratio in ratios if ratio.value > 1]
    return [f"{name} leads in {' and in '.join(ahead)}"] if ahead else []


def _table(duels: Sequence[_Duel], over: str) -> TableOf:
    first, second = duels[0].first, duels[0].second
    return TableOf(
        title=f"{first} and {second} side by side",
        columns=(
            "load", over, f"{first} TPS", f"{second} TPS", "ratio",
            f"{first} p95", f"{second} p95", "ratio of p95",
        ),
        rows=[row for duel in duels for row in _rows(duel)],
        numeric=frozenset(range(1, 8)),
        note=f"Ratios are {second} over {first}. {INTERVAL_NOTE}",
    )  # fmt: skip


def _rows(duel: _Duel) -> Iterator[tuple[str, ...]]:
    both = duel.pairs()
    for level in dict.fromkeys(first.point.get(duel.over, NOTHING) for first, _ in both):
        here = [pair for pair in both if pair[0].point.get(duel.over, NOTHING) == level]
        sides = list(zip(*here, strict=True))
        yield (
            duel.load,
            level,
            *(interval_words(over_runs(side, throughput)) for side in sides),
            interval_words(ratio_of(here, throughput)),
            *(interval_words(over_runs(side, p95_ms), milliseconds) for side in sides),
            interval_words(ratio_of(here, p95_ms)),
        )


def _curves(duel: _Duel, over: str) -> Iterator[CurveOf]:
    for number, title in ((throughput, "Throughput, TPS"), (p95_ms, "95th percentile, ms")):
        series = [
            series_over(name, of, duel.over, number)
            for name, of in ((duel.first, duel.side(0)), (duel.second, duel.side(1)))
        ]
        if all(len(one.x) > 1 for one in series):
            yield CurveOf(
                title=f"{duel.load}: {title.split(',')[0].lower()} against {over}",
                summary=_summary(series),
                x_title=over,
                y_title=title,
                series=series,
                x_axis="log",
            )


def _summary(series: Sequence[CurveSeries]) -> str:
    told = (f"{one.label} from {min(one.y):.3g} to {max(one.y):.3g}" for one in series)
    return "; ".join(told) + "."


ANSWER = Answer(
    id="engine-duel",
    title="Who wins where",
    options={
        "factor": "the factor whose first two levels are compared",
        "by": "the factor of the kinds of load, each with a claim of its own",
        "over": "the factor that stands on the curves' x axis",
        "at": "levels of other factors",
    },
    answer=answer,
)
