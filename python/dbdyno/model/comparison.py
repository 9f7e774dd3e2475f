"""What came of comparing two variants: for each metric a ratio, its interval and a verdict."""

from typing import Literal, TypeAlias

from msgspec import Struct

Verdict: TypeAlias = Literal["better", "worse", "same", "cannot tell"]
Direction: TypeAlias = Literal["higher", "lower", "neither"]
Method: TypeAlias = Literal["paired t", "paired bootstrap", "Welch t", "single runs", "none"]


class Metric(Struct, frozen=True, kw_only=True):
    """A number of a run. ``better`` says which way is good; *neither* is for what is only told."""

    id: str
    title: str
    unit: str
    better: Direction
    value: float


class Repeats(Struct, frozen=True, kw_only=True):
    """How many more pairs would decide, with the interval of that number itself."""

    more: int
    low: int
    high: int | None
    """None when the pilot bounds it on one side only."""


class MetricComparison(Struct, frozen=True, kw_only=True):
    """One metric of two variants. Ratios are after over before; 1.05 is 5 % more.

    ``low`` and ``high`` are the 95 % interval of the ratio between *runs*, None where none can
    be had. ``p`` is of no difference at all, ``p_adjusted`` after Holm over the metrics shown.
    ``detectable`` is the smallest ratio that so many runs find four times in five.
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
    method: Method
    detectable: float | None
    repeats: Repeats | None
    """None when the verdict stands."""
    words: str
    """The verdict as a sentence with its numbers."""


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
