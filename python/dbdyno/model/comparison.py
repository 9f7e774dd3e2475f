"""The result of comparing two variants: for each metric a ratio, its interval and a verdict."""

from typing import Literal, TypeAlias

from msgspec import Struct, field

Verdict: TypeAlias = Literal["better", "worse", "same", "cannot tell"]
# In order of presentation: clear answers, then no change, then undecided.
VERDICTS: tuple[Verdict, ...] = ("worse", "better", "same", "cannot tell")
CHANGED: frozenset[Verdict] = frozenset({"better", "worse"})
"""The verdicts that state a change."""
Direction: TypeAlias = Literal["higher", "lower"]
Method: TypeAlias = Literal[
    "paired t", "paired bootstrap", "Welch t", "Student t", "single runs", "size", "none"
]


class MovedCost(Struct, frozen=True, kw_only=True):
    """A cost whose level changed together with a metric's, with its 95 % interval."""

    id: str
    """The ID of the cost."""
    title: str
    """What it is, in words."""
    ratio: float
    """After over before."""
    low: float
    """Lower end of the ratio's 95 % interval between runs."""
    high: float
    """Upper end of it."""


class ProfileDifference(Struct, frozen=True, kw_only=True):
    """How much more or less CPU time of the server a transaction took in one part of its profile.

    Of several runs of each side, with the run as the unit.
    """

    processes: str
    """Whose CPU time it is: the processes (or threads) of one kind."""
    subsystem: str
    """What for."""
    function: str = ""
    """The function; empty for all of the subsystem."""
    file: str = ""
    """The file that it is in; of the kernel, how the process came into it."""
    before_us: float
    """Microseconds per transaction of the first variant, the mean of its runs."""
    after_us: float
    """The same of the second variant."""
    difference_us: float
    """The second less the first."""
    low_us: float | None = None
    """Lower end of the difference's 95 % interval between runs; None for single runs."""
    high_us: float | None = None
    """Upper end of it."""
    p: float | None = None
    """The p-value of no difference; None for single runs."""
    p_adjusted: float | None = None
    """The same after Holm's correction for all subsystems, or all functions, that were compared."""

    @property
    def has_changed(self) -> bool:
        """Whether it differs by more than chance."""
        return self.p_adjusted is not None and self.p_adjusted < 0.05


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
    """How many more pairs (or runs of each) would decide."""

    more: int
    """The number at the noise seen so far."""
    low: int
    """Lower end of its interval."""
    high: int | None
    """Upper end of it; None if the runs so far give no upper bound."""
    finds: float
    """The relative change that so many pairs would detect four times in five."""


class MetricComparison(Struct, frozen=True, kw_only=True):
    """One metric of two variants. Ratios are after over before; 1.05 is 5 % more."""

    id: str
    """The ID of the metric."""
    title: str
    """What it is, in words."""
    unit: str
    """Its unit."""
    better: Direction
    """The direction that is good."""
    before: float
    """The first variant's geometric mean over its runs (the arithmetic one if some are zero)."""
    after: float
    """The same of the second variant."""
    ratio: float
    """``after`` over ``before``; infinite, which JSON writes as null, if only that is zero."""
    low: float | None
    """Lower end of the ratio's 95 % interval between runs (for single runs, within them, as
    ``method`` shows); None if there is none."""
    high: float | None
    """Upper end of it."""
    p: float | None
    """The p-value of no difference."""
    p_adjusted: float | None
    """The same after Holm's correction for the metrics shown."""
    verdict: Verdict
    """What the interval and the margin decide."""
    margin: float
    """Changes smaller than this share count as *the same*."""
    pairs: int
    """Pairs of runs; for unpaired runs, the number of the smaller side."""
    method: Method
    """How interval and p-value were computed."""
    detectable: float | None
    """The smallest ratio above 1 that so many runs detect four times in five."""
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


class SettingPair(Struct, frozen=True, kw_only=True):
    """A setting of the server on both sides."""

    name: str
    """Its name; `the durability level` is what several settings promise together."""
    before: str
    """Its value in the first variant; `–` if the server there has no such setting."""
    after: str
    """Its value in the second variant, likewise."""

    @property
    def differs(self) -> bool:
        """Whether the two sides have different values."""
        return self.before != self.after


class Comparison(Struct, frozen=True, kw_only=True):
    """Two variants and all requested metrics."""

    before: str
    """The name of the first variant."""
    after: str
    """The name of the second variant."""
    metrics: list[MetricComparison]
    """The metrics, in the order requested."""
    unequal: list[str] = []
    """What else differs between the two, the durability level first."""
    settings: list[SettingPair] = []
    """The settings that are not the defaults of both servers, those that differ first."""
    findings: list[str] = []
    """Findings of the runs of one side that those of the other lack, the most severe first."""
    moved: list[MovedCost] = []
    """Of several runs of each: further costs per transaction that changed by more than chance."""
    server_subsystems: list[ProfileDifference] = []
    """The server's CPU time by subsystem: what changed first, then by the size of the difference;
    empty if a run was not profiled."""
    server_functions: list[ProfileDifference] = []
    """The same by function, those with the largest differences."""
    doubts: list[str] = []
    """What a reader of the verdicts should know, each a sentence."""
    decide_with: str = ""
    """The command that would decide what is undecided."""

    @property
    def more_pairs(self) -> int:
        """How many more pairs would decide all metrics."""
        return max((one.more_pairs for one in self.metrics), default=0)
