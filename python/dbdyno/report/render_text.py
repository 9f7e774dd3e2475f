"""A page as plain text, for a terminal or a log: paragraphs of at most 100 columns, tables, charts.

No colours and no boxes: it is pasted into mails and issues. Texts of servers and scripts are one
line each without control characters, except where they are shown as code. A chart is drawn with
characters between its summary and its data, if characters can show it.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple, assert_never

from dbdyno.layout import (
    FLOW,
    Columns,
    Command,
    Line,
    Paragraph,
    aligned,
    laid_out,
    printable,
    shortened,
)
from dbdyno.report.content import (
    Block,
    Commands,
    Facts,
    Figure,
    FindingBlock,
    Folded,
    Items,
    Number,
    Numbers,
    Page,
    PageSection,
    Sentence,
    Table,
    Text,
    Verdict,
)
from dbdyno.report.text_charts.canvas import UNICODE, Glyphs
from dbdyno.report.text_charts.figures import plotted

_MARKS = "Below, * marks what the data decides, ? what it does not."
_CHART_MAX = 200
"""Columns: a wider chart is a longer way for the eye, and shows no more."""
_NAME_MIN = 14
"""Columns that the name of a number takes, with the blanks after it."""


def render_text(
    page: Page, screen: int | None = None, *, is_brief: bool = False, glyphs: Glyphs = UNICODE
) -> str:
    """Render the page, ending in a newline, for a screen of this width.

    In brief, the footer and what is behind a fold are left out: blocks, charts and their data, the
    details of findings. Charts consist of the ``glyphs``.
    """
    form = _Form(FLOW if screen is None else screen, is_brief, glyphs)
    name = f" ({page.name})" if page.name else ""
    blocks = [block for section in page.sections for block in section.blocks]
    has_marks = any(isinstance(block, Sentence) for block in blocks)
    head = (
        Command(text) if line.style == "command" else Paragraph(text, "  ")
        for line in page.head
        if (text := f"  {printable(line.text)}")
    )
    parts: list[list[Line]] = [
        [Paragraph(printable(f"{page.title}{name}")), *head],
        *form.parts(page.top),
        [_MARKS] if has_marks else [],
        *(part for section in page.sections for part in form.section(section)),
        [Paragraph(printable(page.footer))] if page.footer and not is_brief else [],
    ]
    return "\n\n".join(laid_out(part, screen) for part in parts if part) + "\n"


class _Form(NamedTuple):
    """How the blocks of a page become lines."""

    screen: int
    is_brief: bool
    glyphs: Glyphs

    @property
    def width(self) -> int:
        """Of what is not wider on a wide screen."""
        return min(self.screen, FLOW)

    def section(self, section: PageSection) -> list[list[Line]]:
        """The blocks under the title; nothing if none of them is shown."""
        first, *others = self.parts(section.blocks) or [[]]
        title = printable(section.title)
        return [[title, "-" * len(title), *first], *others] if first else []

    def parts(self, blocks: Iterable[Block]) -> list[list[Line]]:
        """Each block as the lines between two blank ones, or with those of the block before it."""
        parts: list[list[Line]] = []
        last: Block | None = None
        for block in blocks:
            lines = list(self._lines(block))
            if last is not None and _belongs_to(block, last):
                parts[-1] += lines
            else:
                parts.append(lines)
            last = block
        return [part for part in parts if part]

    def _lines(self, block: Block) -> Iterator[Line]:  # noqa: C901, PLR0912 - one for each kind
        match block:
            case Table():
                yield from _table(block, self.width)
            case Facts():
                room = max((len(name) for name, _ in block.pairs), default=0) + 2
                for name, value in block.pairs:
                    yield _set_in(f"{printable(name):{room}}", value)
            case Text():
                yield from _code(block.text) if block.code else [Paragraph(printable(block.text))]
            case Commands():
                yield from map(_command, block.text.splitlines())
            case Items():
                yield from [Paragraph(printable(block.title))] if block.title else []
                yield from _items(block.sentences)
            case Numbers():
                yield from _numbers(block)
            case Verdict():
                yield from _verdict(block)
            case Figure():
                yield Paragraph(printable(block.summary))
                if not self.is_brief:
                    yield from self._chart(block)
                    yield from _table(block.table, self.width)
            case FindingBlock():
                yield from _finding(block, is_brief=self.is_brief)
            case Sentence():
                yield _set_in("* " if block.is_decided else "? ", block.text)
                yield from [_set_in("    ", block.doubt)] if block.doubt else []
            case Folded():
                if not self.is_brief:
                    yield Paragraph(f"{printable(block.title)}:")
                    for place, part in enumerate(self.parts(block.blocks)):
                        yield from [""] if place else []
                        yield from part
            case _:
                assert_never(block)

    def _chart(self, figure: Figure) -> Iterator[Line]:
        drawn = plotted(figure, min(self.screen, _CHART_MAX), self.glyphs)
        if drawn is not None:
            yield from ["", *drawn.lines(), ""]


def _belongs_to(block: Block, last: Block) -> bool:
    """Whether no blank line separates a block from the one before it."""
    match block:
        case Text():
            return block.note
        case Commands():
            return isinstance(last, Text)
        case _:
            return isinstance(block, Sentence) and isinstance(last, Sentence)


def _command(line: str) -> Line:
    """A line of a command; a comment in it must not continue on the next line."""
    text = f"  {line}"
    if line.lstrip().startswith("#"):
        return Paragraph(text, text[: text.index("#") + 2])
    return Command(text)


def _set_in(mark: str, text: str) -> Paragraph:
    """A text after its name or mark; its further lines begin below its first word."""
    return Paragraph(mark + printable(text), " " * len(mark))


def _items(sentences: Iterable[str]) -> Iterator[Line]:
    return (_set_in("  - ", sentence) for sentence in sentences)


def _code(text: str) -> Iterator[Line]:
    return (f"    {line}" for line in text.splitlines())


def _table(table: Table, width: int) -> Iterator[Line]:
    if table.caption:
        yield Paragraph(f"{printable(table.caption)}:")
    rows = [table.columns, *(tuple(map(printable, row)) for row in table.rows)]
    at_left = set(range(len(table.columns))) - table.numeric
    if not table.is_cut:
        yield Columns(rows, at_left)
        return
    # The last column, the longest, gets the room that the others leave.
    for line, row in zip(aligned([row[:-1] for row in rows], at_left), rows, strict=True):
        yield f"{line}  {shortened(row[-1], width - len(line) - 2)}"


def _numbers(block: Numbers) -> Iterator[Line]:
    lead = [block.lead] if block.lead else []
    numbers = [*lead, *block.numbers, *block.per_transaction]
    room = max([_NAME_MIN, *(len(number.name) + 2 for number in numbers)])
    for number in (*lead, *block.numbers):
        yield from _number(number, room)
    if block.per_transaction:
        yield "Per transaction:"
    for number in block.per_transaction:
        yield from _number(number, room)


def _number(number: Number, room: int) -> Iterator[Line]:
    yield _set_in(f"{printable(number.name):{room}}", f"{number.value} {number.unit}")
    for note in number.notes:
        yield _set_in(" " * room, note)


def _verdict(block: Verdict) -> Iterator[Line]:
    status = f"{block.status}. " if block.status else ""
    yield Paragraph(printable(f"{status}{block.text} {block.note}"))
    yield from _items(block.reasons)
    if block.doubts:
        yield "Doubts:"
        yield from _items(block.doubts)


def _finding(block: FindingBlock, *, is_brief: bool) -> Iterator[Line]:
    yield Paragraph(printable(f"{block.severity}: {block.title}. {block.summary}"), "  ")
    if block.advice:
        yield Paragraph(f"  try: {printable(block.advice)}", "       ")
    yield Paragraph(f"  {printable(block.bearing)}", "  ")
    if is_brief:
        return
    if block.places:
        yield Paragraph(f"  {block.places.text}", "  ")
    for heading, sentences in block.rest:
        yield f"  {printable(heading)}:"
        yield from (_set_in("    - ", sentence) for sentence in sentences)
    for title, text in block.code:
        yield f"  {printable(title)}:"
        yield from _code(text)
