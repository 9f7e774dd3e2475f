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

from dbdyno.analysis.compare import MARGIN
from dbdyno.analysis.effect import Effect, Ratio, holm, paired_effect
from dbdyno.analysis.statistical_power import more_repeats
from dbdyno.answers.answer import Trial
from dbdyno.answers.grouping import Number, pairs, ratio_of
from dbdyno.explain.sentences import amount
from dbdyno.formatting import NOTHING, percent, significant

ALPHA = 0.05

Pair = tuple[Trial, Trial]
Levels: TypeAlias = tuple[tuple[str, str], ...]
Logarithms: TypeAlias = Mapping[Levels, float]
"""Logarithms of one block, by the levels of its pairs."""


def like_blocks(blocks: Mapping[int, Logarithms]) -> list[list[float]]:
    """All blocks at the levels that all have, or only the blocks that have all levels.

    A block without one of the levels would differ from the others by that level's ratio, not by
    chance. The alternative that keeps more values is taken, if it keeps two blocks.
    """
    every = {levels for of in blocks.values() for levels in of}
    common = every.intersection(*blocks.values())
    whole = [list(of.values()) for of in blocks.values() if len(of) == len(every)]
    cut = [[of[levels] for levels in common] for of in blocks.values()] if common else []
    return max(cut, whole, key=lambda kept: (len(kept) > 1, sum(map(len, kept))))


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

    def left_out_words(self, number: Number) -> str:
        """Text on the pairs that are not in the effect, as their block or level is incomplete."""
        known = self._logarithms(number)
        missing = sum(map(len, known.values())) - sum(map(len, like_blocks(known)))
        if not missing:
            return ""
        return (
            f"{amount(missing, 'pair is', 'pairs are')} left out, so that all blocks have the same "
            "levels: other levels of their blocks are missing."
        )

    def _logarithms(self, number: Number) -> Mapping[int, Logarithms]:
        """Logarithm of the ratio of each pair that has the number, by block and levels."""
        found: dict[int, dict[Levels, float]] = {}
        for first, second in self.pairs():
            before, after = number(first), number(second)
            if before and after:
                levels = tuple(first.point.items())
                found.setdefault(first.block, {})[levels] = math.log(after / before)
        return found

    def turn_words(self, number: Number) -> str:
        """Where the lead changes from one level to another; empty if it does not."""
        ratios = {level: ratio_of(here, number) for level, here in self.by_level().items()}
        values = {level: ratio.value for level, ratio in ratios.items() if ratio}
        low, high = (pick(values, key=values.__getitem__, default="") for pick in (min, max))
        if not values or not values[low] < 1 - MARGIN or not values[high] > 1 + MARGIN:
            return ""
        return (
            f"The lead changes with {self.over}: {significant(values[low])} times at {low}, "
            f"{significant(values[high])} times at {high}."
        )


class Judged(Struct, frozen=True):
    """The result of one duel in one number. ``p`` is adjusted for all that were judged with it."""

    duel: VariantPair
    ratio: Ratio
    effect: Effect | None
    p: float | None

    @property
    def is_told(self) -> bool:
        """Whether chance is ruled out and the difference matters."""
        return self.p is not None and self.p < ALPHA and abs(self.ratio.value - 1) > MARGIN

    @property
    def inverse(self) -> Ratio:
        """The first's over the second's."""
        low, high = self.ratio.low, self.ratio.high
        return Ratio(1 / self.ratio.value, high and 1 / high, low and 1 / low)

    @property
    def lack(self) -> str:
        """What it would take to decide; empty if it is decided."""
        if self.is_told:
            return ""
        if self.effect is None or self.effect.spread is None:
            return "A single block does not show how much runs differ: repeat it."
        wanted = max(abs(self.effect.value), math.log1p(MARGIN))
        blocks = round(self.effect.spread.freedom) + 1
        needed = more_repeats(wanted, self.effect.spread, blocks, ALPHA)
        most = "or more" if needed.high is None else f"to {needed.high}"
        return (
            f"About {amount(needed.more, 'more repeat', 'more repeats')} ({needed.low} {most}) "
            f"are needed to detect {percent(needed.finds)} with 80 % power."
        )


def judged(duels: Sequence[VariantPair], number: Number) -> list[Judged]:
    """The duels for which both sides have the number."""
    effects = [duel.effect(number) for duel in duels]
    known = {at: of.p for at, of in enumerate(effects) if of is not None and of.p is not None}
    adjusted = dict(zip(known, holm(list(known.values())), strict=True))
    return [
        Judged(duel, ratio, effect, adjusted.get(at))
        for at, (duel, effect) in enumerate(zip(duels, effects, strict=True))
        if (ratio := _ratio(duel, effect, number)) is not None
    ]


def _ratio(duel: VariantPair, effect: Effect | None, number: Number) -> Ratio | None:
    if effect is None:
        return ratio_of(duel.pairs(), number)
    return Ratio(math.exp(effect.value), math.exp(effect.low), math.exp(effect.high))
