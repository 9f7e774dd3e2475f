"""A page as Markdown, for an issue, a merge request or a wiki: the answer, and folded the details.

Names and messages come from others, so whatever could be markup in them is escaped. Of a chart, its
summary and, behind a fold, its data remain.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import assert_never

from dbdyno.formatting import plain
from dbdyno.layout import printable, visible
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

_CODE = re.compile(r"`([^`]+)`")


def render_markdown(page: Page) -> str:
    """Render the whole page, ending in a newline."""
    head = [
        _as_code(line.text) if line.style == "command" else _text(line.text) for line in page.head
    ]
    parts = [
        f"# {_text(page.title)}",
        "  \n".join([_text(page.name), *head]),
        *_parts(page.top),
        *(part for section in page.sections for part in _section(section)),
        *([f"---\n\n{_said(page.footer)}"] if page.footer else []),
    ]
    return plain("\n\n".join(parts)) + "\n"


def _section(section: PageSection) -> Iterator[str]:
    if section.is_detail:
        yield from _folded(section.title, _parts(section.blocks))
    else:
        yield f"## {_text(section.title)}"
        yield from _parts(section.blocks)


def escaped(text: str) -> str:
    """Escape text for Markdown: names of tags and runs come from others."""
    return "".join(f"\\{sign}" if sign in "\\`*_{}[]<>#|~" else sign for sign in text)


def markdown_table(table: Table) -> str:
    """The rows under their headings; without the caption."""
    numeric = table.numeric
    rules = ("---:" if place in numeric else "---" for place in range(len(table.columns)))
    cells = [
        [_as_code(cell) if place in table.code else _text(cell) for place, cell in enumerate(row)]
        for row in table.rows
    ]
    rows = [[_text(name) for name in table.columns], [*rules], *cells]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _text(text: str) -> str:
    """One line of text, whatever is in it."""
    return escaped(printable(text))


def _as_code(text: str) -> str:
    """One line of code; in a table, too, where a bar would end the cell."""
    line = printable(text)
    if not line:
        return ""
    if "`" in line or "|" in line:
        return escaped(line)
    return f"`{line}`"


def _said(text: str) -> str:
    """A sentence; what is between backticks in it is code."""
    parts = _CODE.split(printable(text))  # text between backticks is at the odd indexes
    return "".join(
        _as_code(part) if place % 2 else escaped(part) for place, part in enumerate(parts)
    )


def _parts(blocks: Iterable[Block]) -> list[str]:
    return [part for block in blocks for part in _block(block) if part]


def _block(block: Block) -> Iterator[str]:  # noqa: C901 - one case for each kind of block
    match block:
        case Table():
            yield f"**{_text(block.caption)}**" if block.caption else ""
            yield markdown_table(block)
        case Facts():
            yield _listed(f"{_text(name)}: {_said(value)}" for name, value in block.pairs)
        case Text():
            yield _fenced(block.text) if block.code else _said(block.text)
        case Commands():
            yield _fenced(block.text, "sh")
        case Items():
            yield _said(block.title)
            yield _listed(map(_said, block.sentences))
        case Numbers():
            lead = [block.lead] if block.lead else []
            yield _listed(map(_number, [*lead, *block.numbers]))
            yield "Per transaction:" if block.per_transaction else ""
            yield _listed(map(_number, block.per_transaction))
        case Verdict():
            yield from _verdict(block)
        case Figure():
            yield _said(block.summary)
            yield from _folded(block.table.caption, [markdown_table(block.table)])
        case FindingBlock():
            yield from _finding(block)
        case Sentence():
            mark = "" if block.is_decided else "Not decided: "
            doubt = f" *{_said(block.doubt)}*" if block.doubt else ""
            yield f"{mark}{_said(block.text)}{doubt}"
        case Folded():
            yield from _folded(block.title, _parts(block.blocks))
        case _:
            assert_never(block)


def _number(number: Number) -> str:
    notes = f" ({'; '.join(map(_said, number.notes))})" if number.notes else ""
    value = f"{number.value} {number.unit}".rstrip()
    return f"{_text(number.name)}: **{_text(value)}**{notes}"


def _verdict(block: Verdict) -> Iterator[str]:
    status = f"{escaped(block.status)}. " if block.status else ""
    yield f"**{status}{_said(block.text)}** {_said(block.note)}".rstrip()
    yield _listed(map(_said, block.reasons))
    yield "Doubts:" if block.doubts else ""
    yield _listed(map(_said, block.doubts))


def _finding(block: FindingBlock) -> Iterator[str]:
    yield f"### {block.severity}: {_text(block.title)}"
    yield _said(block.summary)
    yield f"Try: {_said(block.advice)}" if block.advice else ""
    yield block.places.text if block.places else ""
    yield from _folded(
        block.bearing,
        [
            *(
                part
                for heading, sentences in block.rest
                for part in (f"**{_said(heading)}**", _listed(map(_said, sentences)))
            ),
            *(
                part
                for title, text in block.code
                for part in (f"**{_text(title)}**", _fenced(text))
            ),
        ],
    )


def _listed(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _folded(title: str, parts: Sequence[str]) -> Iterator[str]:
    # Within an element, Markdown's own escapes may not count.
    summary = printable(title).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    yield f"<details><summary>{summary}</summary>"
    yield from parts
    yield "</details>"


def _fenced(text: str, language: str = "") -> str:
    """Code between fences that are longer than any in it."""
    longest = max(map(len, re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    lines = "\n".join(visible(line) for line in text.splitlines())
    return f"{fence}{language}\n{lines}\n{fence}"
