"""What came of comparing two variants: for each metric a ratio, its interval and a verdict."""

from typing import Literal, TypeAlias

from msgspec import Struct

Verdict: TypeAlias = Literal["better", "worse", "same", "cannot tell"]
# As they are told: what has an answer, what stayed the same, and what nobody knows yet.
VERDICTS: tuple[Verdict, ...] = ("worse", "better", "same", "cannot tell")
Direction: TypeAlias = Literal["higher", "lower"]
Method: TypeAlias = Literal[
    "paired t", "paired bootstrap", "Welch t", "Student t", "single runs", "none"
]


# Where no noise between runs is known yet: what a pilot takes that tells how many are needed.
PILOT_PAIRS = 5


class Metric(Struct, frozen=True, kw_only=True):
    """A number of a run. ``better`` says which way is good.

    ``low`` and ``high`` are its 95 % interval *within the run*, where there is one.
    """

    id: str
    title: str
    unit: str
    better: Direction
    value: float
    low: float | None = None
    high: float | None = None


class Repeats(Struct, frozen=True, kw_only=True):
    """How many more pairs (or runs of each) would decide, with the interval of that number."""

    more: int
    low: int
    high: int | None
    """None when the pilot does not bound it from above."""
    finds: float
    """The change, as a share, that so many would find four times in five."""


class MetricComparison(Struct, frozen=True, kw_only=True):
    """One metric of two variants. Ratios are after over before; 1.05 is 5 % more.

    ``low`` and ``high`` are the 95 % interval of the ratio between *runs* (of single runs
    within them, which the method says), None where none can be had. The ratio of something
    to nothing is infinite. ``p`` is of no difference at all, ``p_adjusted`` after Holm over
    the metrics shown. ``detectable`` is the smallest ratio above 1 that so many runs find four
    times in five.
    """

    id: str
    title: str
    unit: str
    better: Direction
    before: float
    after: float
    ratio: float
    low: float | None
    high: float | None
    p: float | None
    p_adjusted: float | None
    verdict: Verdict
    margin: float
    pairs: int
    """Pairs of runs; of runs that are no pairs, those of the smaller side."""
    method: Method
    detectable: float | None
    repeats: Repeats | None
    """None when the verdict stands, and where no noise between runs is known."""
    words: str
    """The verdict as a sentence with its numbers."""

    @property
    def more_pairs(self) -> int:
        """How many more would decide it; 0 when it is told, or no number of them would."""
        if self.repeats:
            return self.repeats.more
        return PILOT_PAIRS if self.verdict == "cannot tell" and self.pairs < 2 else 0


class Comparison(Struct, frozen=True, kw_only=True):
    """Two variants, all metrics that were asked for. Unequal durability stands first of all."""

    before: str
    after: str
    metrics: list[MetricComparison]
    unequal: list[str] = []
    """What else differs between the two, the promise of durability first."""
    doubts: list[str] = []
    decide_with: str = ""
    """The command that would decide what cannot be told yet."""

    @property
    def more_pairs(self) -> int:
        """How many more would decide the hardest of its metrics."""
        return max((one.more_pairs for one in self.metrics), default=0)

    @property
    def pairs_in_all(self) -> int:
        """How many would, to who makes all of them anew; 0 when everything is told."""
        open_ones = [one for one in self.metrics if one.more_pairs]
        return max((one.pairs + one.more_pairs for one in open_ones), default=0)
