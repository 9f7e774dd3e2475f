"""The charts of a page as files of their own: SVG, and PNG made from it.

PNG needs ``resvg-py`` (the extra ``charts``); text is drawn with the face that comes with dbdyno,
so that a host without fonts draws it, too.
"""

from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path

from dbdyno.report.charts.standalone import FACE, standalone
from dbdyno.report.content import Block, Figure, Folded, Page

_FONT = Path(__file__).parent / "fonts" / "DejaVuSans.ttf"
_PIXELS_PER_CSS_PIXEL = 2
"""As screens and printers have them: a chart on half a page of A4 has 300 dots per inch."""


def render_svg(page: Page) -> dict[str, str]:
    """Every chart of the page by the name of its file, in the order of the page."""
    source = f"{page.title} · {page.name} · dbdyno"
    figures = (one for section in page.sections for one in _figures(section.blocks))
    return {f"{figure.id}.svg": standalone(figure, source) for figure in figures}


def has_png() -> bool:
    """Whether the library that draws PNG is installed."""
    return find_spec("resvg_py") is not None


def png_of(svg: str) -> bytes:
    """A drawing as PNG, on white."""
    import resvg_py  # noqa: PLC0415 - of an extra

    return bytes(
        resvg_py.svg_to_bytes(
            svg_string=svg,
            zoom=_PIXELS_PER_CSS_PIXEL,
            font_files=[str(_FONT)],
            image_rendering="optimize_speed",  # a heat map has sharp cells
            font_family=FACE,
            sans_serif_family=FACE,
        )
    )


def _figures(blocks: Iterable[Block]) -> Iterator[Figure]:
    for block in blocks:
        match block:
            case Figure():
                yield block
            case Folded():
                yield from _figures(block.blocks)
