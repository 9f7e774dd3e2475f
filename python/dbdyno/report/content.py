"""The contents of a section: facts, tables, figures, text. Plain data, nothing drawn yet.

Strings in it are text, never markup: the template escapes all of them. The one exception is
:attr:`Figure.svg`, which only :mod:`dbdyno.report.svg` makes, and which escapes its own.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Literal, TypeAlias

from markupsafe import Markup
from msgspec import Struct
from msgspec.structs import replace

from dbdyno.analysis.summarize import full_record
from dbdyno.analysis.timeline import Timeline
from dbdyno.explain.case import Case
from dbdyno.explain.explain import explain
from dbdyno.model.record import RunRecord, Severity

Cell: TypeAlias = str
Emphasis: TypeAlias = Literal["line", "thin", "bars"]


class Table(Struct, frozen=True, kw_only=True):
    """Columns and rows of text; ``numeric`` are the right-aligned columns."""

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    numeric: frozenset[int] = frozenset()
    code: frozenset[int] = frozenset()

    kind: Literal["table"] = "table"


class Facts(Struct, frozen=True, kw_only=True):
    """Names and values."""

    pairs: Sequence[tuple[str, str]]

    kind: Literal["facts"] = "facts"


class Text(Struct, frozen=True, kw_only=True):
    """A paragraph, with ``code`` lines to be shown verbatim, or a ``note`` in small print."""

    text: str
    code: bool = False
    note: bool = False

    kind: Literal["text"] = "text"


class Series(Struct, frozen=True):
    """One line of a chart; ``colour`` is a custom property of the style sheet."""

    label: str
    colour: str
    values: Sequence[float | None]
    emphasis: Emphasis = "line"


class Mark(Struct, frozen=True):
    """A highlighted stretch of time."""

    begin_s: float
    end_s: float
    label: str


class Span(Struct, frozen=True):
    """The time of an event, or of a part of it that is emphasized."""

    begin_s: float
    end_s: float
    strong: bool = False


class Lane(Struct, frozen=True):
    """The events of one kind: a row of their own above the plot."""

    label: str
    spans: Sequence[Span]


class LineChart(Struct, frozen=True, kw_only=True):
    """A chart over time.

    Stacked series are drawn on top of each other, the first uppermost. ``x`` is between the ends.
    """

    x: Sequence[float]
    begin_s: float
    end_s: float
    series: Sequence[Series]
    scale: Literal["linear", "log"]
    unit: Literal["tps", "ms", "sessions"]
    stacked: bool = False
    height: int = 260
    marks: Sequence[Mark] = ()
    lanes: Sequence[Lane] = ()


class Figure(Struct, frozen=True, kw_only=True):
    """A chart with its caption, its text alternative, and its data."""

    id: str
    caption: str
    summary: str
    table: Table
    chart: LineChart | None = None
    svg: tuple[Markup, ...] | None = None
    """One for each of the widths that ``plot.at_each_width`` draws."""
    key: Sequence[tuple[str, str]] = ()
    """Colours (custom properties of the style sheet) and their meaning."""

    kind: Literal["figure"] = "figure"


class Claim(Struct, frozen=True, kw_only=True):
    """A finding: its summary, and behind a fold its evidence and advice.

    Texts may contain code between backticks. ``rest`` are headings, each with its sentences;
    ``code`` are titles, each with lines to be shown verbatim.
    """

    id: str
    severity: Severity
    title: str
    summary: str
    bearing: str
    """How much it accounts for, and how certain that is."""
    advice: str
    rest: Sequence[tuple[str, Sequence[str]]]
    code: Sequence[tuple[str, str]]

    kind: Literal["claim"] = "claim"


class Sentence(Struct, frozen=True, kw_only=True):
    """A conclusion; ``is_decided`` is true if the data decides it, ``doubt`` is what weakens it."""

    text: str
    is_decided: bool
    doubt: str = ""

    kind: Literal["sentence"] = "sentence"


class Folded(Struct, frozen=True, kw_only=True):
    """Blocks behind a line that unfolds them."""

    title: str
    blocks: Sequence["Block"]

    kind: Literal["folded"] = "folded"


Block: TypeAlias = Table | Facts | Text | Figure | Claim | Sentence | Folded


class Subject(Case):
    """The run that a report is about, with what several sections need computed once."""

    @cached_property
    def record(self) -> RunRecord:
        """The record; the run is explained here if it was interrupted and never finished."""
        known = full_record(self.recording, self.histograms)
        is_explained = bool(known.findings or known.not_looked)
        if is_explained or not len(self.recording.tables["samples"]["time_s"]):
            return known
        explanation = explain(self.recording, self.histograms)
        return replace(
            known,
            costs=known.costs or self.costs,
            findings=explanation.findings,
            not_looked=explanation.not_looked,
            unexplained=explanation.unexplained,
            unexplained_as=explanation.unexplained_as,
        )

    @cached_property
    def whole_intervals(self) -> Timeline:
        """The timeline without intervals that were cut short, as charts over time use it."""
        return self.timeline.whole_intervals()


class Section(Struct, frozen=True, kw_only=True):
    """One part of the report. ``build`` returns nothing if the run has nothing for it."""

    id: str
    title: str
    order: int
    build: Callable[[Subject], Sequence[Block]]
