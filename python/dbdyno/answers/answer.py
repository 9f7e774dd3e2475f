"""The input and output of an answer: plain data, nothing read and nothing drawn."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal, TypeAlias

from msgspec import Struct, field

from dbdyno.analysis.series.timeline import Timeline, timeline
from dbdyno.model.comparison import Comparison, ProfileDifference
from dbdyno.model.record import RunRecord
from dbdyno.model.run import Run
from dbdyno.model.study import StudyRecord, StudySpec

Axis: TypeAlias = Literal["linear", "log", "tail"]
"""On an axis of the tail, of shares, each further nine takes the same room."""


class Trial:
    """One finished run of a study. ``case`` loads its recording on first access."""

    def __init__(
        self, point: Mapping[str, str], block: int, record: RunRecord, load: Callable[[], Run]
    ) -> None:
        self.point = point
        self.block = block
        self.record = record
        self._load = load

    @cached_property
    def run(self) -> Run:
        """Everything that was recorded of the run."""
        return self._load()

    @property
    def timeline(self) -> Timeline:
        """What happened in each interval."""
        return timeline(self.run)


class Trials(Struct, frozen=True, kw_only=True):
    """All runs of a study that ended well enough to count, in the order in which they were made."""

    study: StudyRecord
    trials: Sequence[Trial]
    unsound: Sequence[Trial] = ()
    """Runs that do not count since they failed or are invalid: for answers about what makes them
    so."""
    comparisons: Sequence[Comparison] = ()

    @property
    def spec(self) -> StudySpec:
        """The specification of the study."""
        return self.study.spec

    def at(self, **levels: str) -> list[Trial]:
        """The trials at these levels of these factors (``_`` stands for ``-``)."""
        wanted = {name.replace("_", "-"): level for name, level in levels.items()}
        return [
            trial
            for trial in self.trials
            if all(
                trial.point.get(name, trial.point.get(name.replace("-", "_"))) == level
                for name, level in wanted.items()
            )
        ]


class Claim(Struct, frozen=True, kw_only=True):
    """A sentence with its effect, and doubts that limit what it claims.

    ``is_decided`` is true if the data decides it; otherwise the claim states what would decide it.
    Of a claim about several cases, ``undecided`` names those that are not.
    """

    sentence: str
    is_decided: bool = field(name="told")
    effect: float | None = None
    low: float | None = None
    high: float | None = None
    undecided: str = ""
    doubt: str = ""
    evidence: dict[str, Any] = {}


class TableOf(Struct, frozen=True, kw_only=True):
    """A table of text; ``numeric`` are the right-aligned columns."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    numeric: frozenset[int] = frozenset()
    note: str = ""


class CurveSeries(Struct, frozen=True, kw_only=True):
    """Points of one variant; ``low`` and ``high`` are their intervals, if there are any.

    ``fitted`` lines have no points of their own: they show a law that was fitted to points.
    """

    label: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float | None] = ()
    high: Sequence[float | None] = ()
    fitted: bool = False

    @property
    def has_intervals(self) -> bool:
        """Whether any of the points may have one."""
        return bool(self.low and self.high)

    @property
    def intervals(self) -> Iterable[tuple[float | None, float | None]]:
        """The interval of each point."""
        if not self.has_intervals:
            return ((None, None) for _ in self.x)
        return zip(self.low, self.high, strict=True)


class CurveOf(Struct, frozen=True, kw_only=True):
    """A chart of one number against another."""

    title: str
    summary: str
    """Text alternative for readers who cannot see the chart."""
    x_title: str
    y_title: str
    series: Sequence[CurveSeries]
    x_axis: Axis = "linear"
    y_axis: Axis = "linear"
    marks: Sequence[tuple[float, str]] = ()
    """Positions on the x axis with their labels: a knee, a peak."""

    @property
    def measured(self) -> list[CurveSeries]:
        """The series that are no fitted lines."""
        return [one for one in self.series if not one.fitted]


class SpanOf(Struct, frozen=True, kw_only=True):
    """The time that an event lasted: a checkpoint, an autovacuum."""

    kind: str
    begin_s: float
    end_s: float


class ScatterOf(Struct, frozen=True, kw_only=True):
    """A number of each interval of some runs over time, with the events drawn in."""

    title: str
    summary: str
    y_title: str
    series: Sequence[CurveSeries]
    spans: Sequence[SpanOf] = ()

    @property
    def kinds(self) -> list[str]:
        """The kinds of its events, in the order of their first."""
        return list(dict.fromkeys(span.kind for span in self.spans))


class BarOf(Struct, frozen=True, kw_only=True):
    """One whole and its parts, in the order of the kinds; ``text`` states its size."""

    label: str
    parts: Sequence[float]
    text: str = field(name="words", default="")


class PartsOf(Struct, frozen=True, kw_only=True):
    """Wholes beside each other, each divided into the same kinds of parts.

    All bars have the same length: they compare the division, not the size.
    """

    title: str
    summary: str
    kinds: Sequence[str]
    bars: Sequence[BarOf]


class QueueOf(Struct, frozen=True, kw_only=True):
    """The queue of one run as a diagram: who waits for whom (drawn from its case)."""

    title: str
    trial: Trial


class ProfileOf(Struct, frozen=True, kw_only=True):
    """Where the server's CPU time per transaction went in two variants, and what changed."""

    title: str
    after: str
    """The second variant."""
    subsystems: Sequence[ProfileDifference]
    functions: Sequence[ProfileDifference]


Shown: TypeAlias = TableOf | CurveOf | ScatterOf | PartsOf | QueueOf | ProfileOf


class Answered(Struct, frozen=True, kw_only=True):
    """The result of an answer. The first claim of all is the study's verdict."""

    claims: Sequence[Claim]
    shown: Sequence[Shown] = ()
    missing: str = ""
    """Why the answer could not be computed, if the runs lack what it needs."""


class Answer(Struct, frozen=True, kw_only=True):
    """One kind of answer. ``answer`` gets the runs and the options of the study's file."""

    id: str
    title: str
    options: Mapping[str, str] = {}
    """Options with their meaning; others are refused when the file is read."""
    judges: bool = True
    """Whether the study's verdict may be its first claim, or what it lacks to make one."""
    answer: Callable[[Trials, Mapping[str, Any]], Answered]
