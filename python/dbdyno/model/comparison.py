"""The result of comparing two variants: for each metric a ratio, its interval and a verdict."""

from typing import Literal, TypeAlias

from msgspec import Struct, field

Verdict: TypeAlias = Literal["better", "worse", "same", "cannot tell"]
# In order of presentation: clear answers, then no change, then undecided.
VERDICTS: tuple[Verdict, ...] = ("worse", "better", "same", "cannot tell")
Direction: TypeAlias = Literal["higher", "lower"]
Method: TypeAlias = Literal[
    "paired t", "paired bootstrap", "Welch t", "Student t", "single runs", "none"
]


# The size of a first series when the noise between runs is unknown; it shows how many are needed.
PILOT_PAIRS = 5


class Metric(Struct, frozen=True, kw_only=True):
    """A number of a run. ``better`` is the direction that is good.

    ``low`` and ``high`` are its 95 % interval *within the run*, if there is one.
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
    """None if the runs so far give no upper bound."""
    finds: float
    """The relative change that so many pairs would detect four times in five."""


class MetricComparison(Struct, frozen=True, kw_only=True):
    """One metric of two variants. Ratios are after over before; 1.05 is 5 % more.

    ``low`` and ``high`` are the 95 % interval of the ratio between *runs* (for single runs, within
    them, as ``method`` shows), None if there is none. The ratio to zero is infinite. ``p`` is the
    p-value of no difference, ``p_adjusted`` the same after Holm's correction for the metrics shown.
    ``detectable`` is the smallest ratio above 1 that so many runs detect four times in five.
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
    """Pairs of runs; for unpaired runs, the number of the smaller side."""
    method: Method
    detectable: float | None
    repeats: Repeats | None
    """None if the verdict is decided, or if the noise between runs is unknown."""
    sentence: str = field(name="words")
    """The verdict as a sentence with its numbers."""

    @property
    def more_pairs(self) -> int:
        """How many more pairs would decide; 0 if it is decided, or if no number would decide it."""
        if self.repeats:
            return self.repeats.more
        return PILOT_PAIRS if self.verdict == "cannot tell" and self.pairs < 2 else 0


class Comparison(Struct, frozen=True, kw_only=True):
    """Two variants and all requested metrics. Unequal durability comes first."""

    before: str
    after: str
    metrics: list[MetricComparison]
    unequal: list[str] = []
    """What else differs between the two, the durability level first."""
    doubts: list[str] = []
    decide_with: str = ""
    """The command that would decide what is undecided."""

    @property
    def more_pairs(self) -> int:
        """How many more pairs would decide all metrics."""
        return max((one.more_pairs for one in self.metrics), default=0)

    @property
    def pairs_in_all(self) -> int:
        """How many pairs would decide all metrics from scratch; 0 if all are decided."""
        open_ones = [one for one in self.metrics if one.more_pairs]
        return max((one.pairs + one.more_pairs for one in open_ones), default=0)
