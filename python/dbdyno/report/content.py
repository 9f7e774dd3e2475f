"""The contents of a page: sections of facts, tables, figures, text. Plain data, nothing drawn yet.

``render_html``, ``render_text``, ``render_markdown`` and ``render_json`` show every kind of block,
so whatever is added to a page is in all its forms; ``render_svg`` and ``render_csv`` make files of
its charts and tables.

Strings in it are text, never markup: whoever renders them escapes them. The one exception is
:attr:`Figure.svg`, which only :mod:`dbdyno.report.charts.svg` makes, and which escapes its own.
"""

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

from markupsafe import Markup
from msgspec import Struct

from dbdyno.answers.answer import CurveOf, PartsOf, ScatterOf
from dbdyno.formatting import seconds
from dbdyno.model.record import RunRecord, Severity
from dbdyno.model.run import Run
from dbdyno.report.charts.grid import Grid
from dbdyno.report.charts.icicle import Icicle

Cell: TypeAlias = str
Emphasis: TypeAlias = Literal["line", "thin", "bars"]


class Table(Struct, frozen=True, kw_only=True):
    """Columns and rows of text; ``numeric`` are the right-aligned columns.

    A table without a caption says what it is in its headings. If it ``is_cut``, its last column is
    cut off where a line of text ends, instead of making the table wider.
    """

    caption: str = ""
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    numeric: frozenset[int] = frozenset()
    code: frozenset[int] = frozenset()
    is_cut: bool = False
    addresses: Sequence[Sequence[str]] = ()
    """Of each cell, the address of the page that it leads to, or an empty text; empty: no links."""

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


class Commands(Struct, frozen=True, kw_only=True):
    """Lines for a shell, to be pasted as they are."""

    text: str

    kind: Literal["commands"] = "commands"


class Items(Struct, frozen=True, kw_only=True):
    """Sentences in a list, under a title if it has one."""

    title: str = ""
    sentences: Sequence[str]

    kind: Literal["items"] = "items"


class Number(Struct, frozen=True, kw_only=True):
    """A number with its name, and what is to be known about it."""

    name: str
    value: str
    unit: str = ""
    notes: Sequence[str] = ()


class Numbers(Struct, frozen=True, kw_only=True):
    """The numbers at the top of a page; ``lead`` is the one that most people look for."""

    lead: Number | None = None
    numbers: Sequence[Number]
    per_transaction: Sequence[Number] = ()

    kind: Literal["numbers"] = "numbers"


class Verdict(Struct, frozen=True, kw_only=True):
    """What the page says in one sentence, why, and what weakens it.

    ``status`` is how far it can be relied on, in a few words, where that is not the verdict itself.
    """

    status: str = ""
    text: str
    note: str = ""
    is_good: bool | None
    reasons: Sequence[str] = ()
    doubts: Sequence[str] = ()

    kind: Literal["verdict"] = "verdict"


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

    @property
    def text(self) -> str:
        """Its time in words."""
        begin, end = seconds(self.begin_s), seconds(self.end_s)
        return begin if begin == end else f"{begin} to {end}"


class Lane(Struct, frozen=True):
    """The events of one kind: a row of their own above the plot."""

    label: str
    spans: Sequence[Span]


class TimeAxis(Struct, frozen=True):
    """Where the time axis of a drawing begins and ends."""

    begin_s: float
    end_s: float


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
    time_axis: TimeAxis | None = None
    """That of the ``svg``, if it follows the charts over time."""
    shows: CurveOf | ScatterOf | PartsOf | Grid | Icicle | None = None
    """The numbers that are drawn in ``svg``, for what draws them otherwise."""
    axes: tuple[str, str] = ("", "")
    """The titles of both axes, if the ``svg`` has none; its ticks have their units."""
    key: Sequence[tuple[str, str]] = ()
    """Colours (custom properties of the style sheet) and their meaning."""

    kind: Literal["figure"] = "figure"


class Places(Struct, frozen=True, kw_only=True):
    """Where in time something is seen: a page's charts lead there. ``more`` are not listed."""

    lead: str
    spans: Sequence[Span]
    more: int = 0

    @property
    def text(self) -> str:
        """All of it in words."""
        more = f", and {self.more} more" if self.more else ""
        return f"{self.lead} {', '.join(span.text for span in self.spans)}{more}."


class FindingBlock(Struct, frozen=True, kw_only=True):
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
    places: Places | None = None

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


Block: TypeAlias = (
    Table
    | Facts
    | Text
    | Commands
    | Items
    | Numbers
    | Verdict
    | Figure
    | FindingBlock
    | Sentence
    | Folded
)


class HeadLine(Struct, frozen=True, kw_only=True):
    """A line under the title; a page with a question has its answer as a verdict at the top."""

    text: str
    style: Literal["question", "where", "when", "command"] = "when"


class PageSection(Struct, frozen=True, kw_only=True):
    """One part of a page; without blocks it is left out.

    A detail is behind a fold where a page is read in passing: in a pull request.
    """

    id: str
    title: str
    blocks: Sequence[Block]
    is_detail: bool = False


def filled(*sections: PageSection) -> list[PageSection]:
    """The sections that have something to show."""
    return [section for section in sections if section.blocks]


class Page(Struct, frozen=True, kw_only=True):
    """The contents of a page. ``name`` states what kind of thing it is about, and which."""

    name: str = ""
    title: str
    head: Sequence[HeadLine]
    top: Sequence[Block]
    """What precedes the sections: the verdict, the numbers."""
    sections: Sequence[PageSection] = ()
    footer: str = ""


class Section(Struct, frozen=True, kw_only=True):
    """One part of a run's report. ``build`` returns nothing if the run has nothing for it.

    ``summary`` returns what of it is in the summary at the end of a run, if anything.
    """

    id: str
    title: str
    build: Callable[[Run], Sequence[Block]]
    summary: Callable[[RunRecord], Sequence[Block]] = lambda _: ()
