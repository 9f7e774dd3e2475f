"""Two variants under one kind of load at several levels: the ratio over all of them, judged.

The block is the unit: the geometric mean of a block's ratios over all levels is one sample, because
levels of one block share the drift of the host. Loads that are judged together are one test each,
and are corrected for multiple comparisons (Holm).
"""

import math
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from dbdyno.analysis.compare.metrics import like_blocks
from dbdyno.analysis.compare.verdicts import ALPHA, alpha_of_next, verdict_of
from dbdyno.analysis.statistics.effect import Effect, holm, paired_effect
from dbdyno.analysis.statistics.estimate import Ratio
from dbdyno.analysis.statistics.statistical_power import more_repeats
from dbdyno.answers.answer import Trial
from dbdyno.answers.grouping import pairs
from dbdyno.answers.measuring import Number, ratio_of
from dbdyno.explain.sentences import amount
from dbdyno.formatting import NOTHING, percent, significant
from dbdyno.model.comparison import CHANGED, Verdict
from dbdyno.model.study import MARGIN

Pair = tuple[Trial, Trial]
Levels: TypeAlias = tuple[tuple[str, str], ...]
Logarithms: TypeAlias = Mapping[Levels, float]
"""Logarithms of one block, by the levels of its pairs."""


class VariantPair(Struct, frozen=True):
    """Two variants under one kind of load; ratios are the second's over the first's."""

    load: str
    first: str
    second: str
    among: Sequence[Trial]
    factor: str
    over: str

    def pairs(self) -> list[Pair]:
        """The pair of each block and level."""
        return pairs(self.among, self.factor, self.first, self.second)

    def by_level(self) -> dict[str, list[Pair]]:
        """The pairs of each level of ``over``."""
        found: dict[str, list[Pair]] = {}
        for pair in self.pairs():
            found.setdefault(pair[0].point.get(self.over, NOTHING), []).append(pair)
        return found

    def side(self, name: str) -> list[Trial]:
        """The runs of one variant, including those whose counterpart failed."""
        return [trial for trial in self.among if trial.point.get(self.factor) == name]

    def effect(self, number: Number) -> Effect | None:
        """Effect on logarithms; None with fewer than two blocks."""
        blocks = like_blocks(self._logarithms(number))
        means = np.array([np.mean(logarithms) for logarithms in blocks])
        return paired_effect(means) if len(means) > 1 else None

    def ratio(self, number: Number) -> Ratio | None:
        """The effect as a factor; without an interval if there is one block, None without pairs."""
        effect = self.effect(number)
        if effect is None:
            return ratio_of(self.pairs(), number)
        return Ratio(math.exp(effect.value), math.exp(effect.low), math.exp(effect.high))

    def left_out_text(self, number: Number) -> str:
        """Text on pairs that are not in the effect: of 0, or of an incomplete block or level."""
        known = self._logarithms(number)
        missing = sum(map(len, known.values())) - sum(map(len, like_blocks(known)))
        nothing = sum(0 in map(number, pair) for pair in self.pairs())
        texts = []
        if missing:
            texts.append(
                f"{amount(missing, 'pair is', 'pairs are')} left out, so that all blocks have the "
                "same levels: other levels of their blocks are missing."
            )
        if nothing:
            texts.append(
                f"{amount(nothing, 'pair is', 'pairs are')} left out: one side is 0, to which "
                "there is no ratio."
            )
        return " ".join(texts)

    def _logarithms(self, number: Number) -> Mapping[int, Logarithms]:
        """Logarithm of the ratio of each pair that has the number, by block and levels."""
        found: dict[int, dict[Levels, float]] = {}
        for first, second in self.pairs():
            before, after = number(first), number(second)
            if before and after:
                levels = tuple(first.point.items())
                found.setdefault(first.block, {})[levels] = math.log(after / before)
        return found

    def at_each_level(self) -> "list[VariantPair]":
        """The comparison at each level of ``over`` alone, which it has as its load."""
        return [
            replace(self, load=level, among=[trial for pair in here for trial in pair])
            for level, here in self.by_level().items()
        ]


class DuelResult(Struct, frozen=True):
    """The result of one duel in one number. ``p`` is adjusted for all that were judged with it.

    ``alpha`` is the level that the duel alone would have to reach.
    """

    duel: VariantPair
    ratio: Ratio
    effect: Effect | None
    p: float | None
    alpha: float = ALPHA

    @property
    def verdict(self) -> Verdict:
        """The verdict on the second, if more is better."""
        if self.effect is None or self.p is None:
            return "cannot tell"
        return verdict_of(self.effect, self.p, MARGIN, "higher")

    @property
    def is_decided(self) -> bool:
        """Whether one leads, or neither does."""
        return self.verdict != "cannot tell"

    @property
    def has_leader(self) -> bool:
        """Whether one of the two is known to be higher."""
        return self.verdict in CHANGED

    @property
    def inverse(self) -> Ratio:
        """The first's over the second's."""
        low, high = self.ratio.low, self.ratio.high
        return Ratio(1 / self.ratio.value, high and 1 / high, low and 1 / low)

    @property
    def lack(self) -> str:
        """What it would take to decide; empty if it is decided."""
        if self.is_decided:
            return ""
        if self.effect is None or self.effect.spread is None:
            return "A single block does not show how much runs differ: repeat it."
        wanted = max(abs(self.effect.value), math.log1p(MARGIN))
        blocks = round(self.effect.spread.freedom) + 1
        needed = more_repeats(wanted, self.effect.spread, blocks, self.alpha)
        most = "or more" if needed.high is None else f"to {needed.high}"
        more = amount(needed.more, "more repeat", "more repeats")
        are = "is" if needed.more == 1 else "are"
        return (
            f"{self._corrected_text}About {more} ({needed.low} {most}) {are} needed to detect "
            f"{percent(needed.finds)} with 80 % power."
        )

    @property
    def _corrected_text(self) -> str:
        """Why the duel is undecided although its own interval excludes no difference."""
        if self.p is None or self.p < ALPHA or not self.ratio.is_significant:
            return ""
        return (
            "The interval is that of this load alone, and excludes no difference; over all loads, "
            f"p = {significant(self.p)} after Holm correction. "
        )


def duel_results(duels: Sequence[VariantPair], number: Number) -> list[DuelResult]:
    """The duels for which both sides have the number."""
    effects = [duel.effect(number) for duel in duels]
    known = {at: of.p for at, of in enumerate(effects) if of is not None and of.p is not None}
    of_all = holm(list(known.values()))
    adjusted = dict(zip(known, of_all, strict=True))
    alpha = alpha_of_next(of_all)
    return [
        DuelResult(duel, ratio, effect, adjusted.get(at), alpha)
        for at, (duel, effect) in enumerate(zip(duels, effects, strict=True))
        if (ratio := duel.ratio(number)) is not None
    ]


def turn_text(one: DuelResult, number: Number) -> str:
    """How the lead depends on the level, where the mean over all levels does not show it.

    That the lead changes is a claim about the extremes of the levels, which are judged together. A
    mean that is the same on both sides may hide levels that are not: they are named, though each
    alone decides nothing.
    """
    duel = one.duel
    results = duel_results(duel.at_each_level(), number)
    ratios = {at.duel.load: at.ratio.value for at in results}
    leads = {at.duel.load: at.ratio.value for at in results if at.has_leader}
    if leads and min(leads.values()) < 1 < max(leads.values()):
        return f"The lead changes with {duel.over}: {_extremes(leads)}."
    is_hidden = max(abs(math.log(ratio)) for ratio in ratios.values()) > math.log1p(MARGIN)
    if one.verdict == "same" and is_hidden:
        return (
            f"Only the mean over {duel.over} is the same: {_extremes(ratios)}. Repeats would "
            "decide each level alone."
        )
    return ""


def _extremes(ratios: Mapping[str, float]) -> str:
    low, high = (pick(ratios, key=ratios.__getitem__) for pick in (min, max))
    return f"{significant(ratios[low])} times at {low}, {significant(ratios[high])} times at {high}"
