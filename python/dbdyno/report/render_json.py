"""A page as one JSON object, for programs: every block as it is declared in ``content``.

Drawings are left out: their numbers are in each figure's table, and charts over time are numbers
already.
"""

import msgspec
from msgspec.structs import replace

from dbdyno.formatting import plain
from dbdyno.layout import harmless
from dbdyno.report.content import Block, Figure, Folded, Page

FORMAT_VERSION = 1


def render_json(page: Page) -> str:
    """Render the whole page, ending in a newline."""
    undrawn = replace(
        page,
        top=[*map(_undrawn, page.top)],
        sections=[replace(one, blocks=[*map(_undrawn, one.blocks)]) for one in page.sections],
    )
    described = msgspec.to_builtins(undrawn, order="deterministic")
    encoded = msgspec.json.encode({"format_version": FORMAT_VERSION, **described})
    return harmless(plain(msgspec.json.format(encoded).decode())) + "\n"


def _undrawn(block: Block) -> Block:
    match block:
        case Figure():
            return replace(block, svg=None, shows=None)
        case Folded():
            return replace(block, blocks=[*map(_undrawn, block.blocks)])
        case _:
            return block
