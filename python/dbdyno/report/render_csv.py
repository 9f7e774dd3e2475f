"""The tables of a page as CSV, a file each: for spreadsheets, and for programs.

The cells are those of the page. A number loses the spaces between its thousands, which a program
would not read; one with a unit is text. For full precision there are ``dbdyno sql`` and Parquet.
"""

import csv
import io
import re
from collections.abc import Iterable, Iterator

from dbdyno.formatting import THIN_SPACE, plain
from dbdyno.layout import visible
from dbdyno.report.content import Block, Facts, Figure, Folded, Number, Numbers, Page, Table

_NUMBER = re.compile(rf"[-−+]?\d{{1,3}}(?:{THIN_SPACE}\d{{3}})+(?:\.\d+)?|[-−+]?\d+(?:\.\d+)?")
# With these a spreadsheet would begin a formula, unless it is a number with its unit.
_FORMULA = re.compile(r"[=@\t\r]|[-+](?!\.?\d[\w\s.,%µ–]*$)")
_WORD = re.compile(r"[a-z0-9]+")
_NAME_MAX = 60


def render_csv(page: Page) -> dict[str, str]:
    """Every table of the page by the name of its file, in the order of the page."""
    found: dict[str, str] = {}
    parts = [("top", page.top), *((section.id, section.blocks) for section in page.sections)]
    for section_id, blocks in parts:
        for title, table in _tables(blocks):
            name = file_name(section_id, title)
            number = sum(re.fullmatch(rf"{name}(-\d+)?\.csv", other) is not None for other in found)
            found[f"{name}-{number + 1}.csv" if number else f"{name}.csv"] = csv_of(table)
    return found


def file_name(section_id: str, title: str) -> str:
    """A name for a part of a section that needs no quotes in any shell; without its ending."""
    words = _WORD.findall(title.lower())
    own = words if words[:1] != [section_id] else words[1:]
    return "-".join(_WORD.findall(section_id.lower()) + own)[:_NAME_MAX].strip("-")


def csv_of(table: Table) -> str:
    """The headings and the rows, as RFC 4180 says."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(map(_cell, table.columns))
    writer.writerows(map(_cell, row) for row in table.rows)
    return text.getvalue()


def _cell(text: str) -> str:
    if _NUMBER.fullmatch(text):
        return text.replace(THIN_SPACE, "").replace("−", "-")
    shown = "\n".join(map(visible, plain(text).splitlines()))
    # What a server or a script wrote is text, whatever it begins with.
    return f"'{shown}" if _FORMULA.match(shown) else shown


def _tables(blocks: Iterable[Block]) -> Iterator[tuple[str, Table]]:
    """All tables with their titles: facts and numbers are tables, too."""
    for block in blocks:
        match block:
            case Table():
                yield block.caption, block
            case Figure():
                yield block.id, block.table
            case Facts():
                yield "facts", Table(columns=("name", "value"), rows=block.pairs)
            case Numbers():
                lead = [block.lead] if block.lead else []
                yield "numbers", _of_numbers([*lead, *block.numbers, *block.per_transaction])
            case Folded():
                yield from _tables(block.blocks)


def _of_numbers(numbers: Iterable[Number]) -> Table:
    return Table(
        columns=("name", "value", "unit", "notes"),
        rows=[(one.name, one.value, one.unit, "; ".join(one.notes)) for one in numbers],
    )
