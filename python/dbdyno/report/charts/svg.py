"""A drawing API for static charts: writes SVG and escapes every text; knows nothing of runs.

Colours are classes of the page's style sheet, so a drawing follows light, dark and print modes.
"""

import base64
import struct
import zlib
from collections.abc import Sequence
from typing import Literal

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray


class Drawing:
    """Collects shapes; sizes are in CSS pixels of the page it is made for."""

    def __init__(self, width: int, height: int) -> None:
        self._width = width
        self._height = height
        self._parts: list[Markup] = []

    @property
    def width(self) -> int:
        """From the left edge to the right one."""
        return self._width

    def line(self, x1: float, y1: float, x2: float, y2: float, style: str) -> None:
        """A straight line."""
        self._parts.append(
            Markup('<line x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}" class="{}"/>').format(
                x1, y1, x2, y2, style
            )
        )

    def rectangle(self, x: float, y: float, width: float, height: float, style: str) -> None:
        """A filled rectangle."""
        self._parts.append(
            Markup(
                '<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" class="{}"/>'
            ).format(x, y, max(width, 0), max(height, 0), style)
        )

    def cell(  # noqa: PLR0913 - where, and what it is
        self, x: float, y: float, width: float, height: float, style: str, *, name: str, title: str
    ) -> None:
        """A filled rectangle that a page's script can find by its name, and that shows a title."""
        self._parts.append(
            Markup(
                '<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" class="cell {}"'
                ' data-name="{}">{}</rect>'
            ).format(x, y, max(width, 0), max(height, 0), style, name, _title(title))
        )

    def dot(self, x: float, y: float, radius: float, style: str) -> None:
        """A filled circle."""
        self._parts.append(
            Markup('<circle cx="{:.1f}" cy="{:.1f}" r="{:.1f}" class="{}"/>').format(
                x, y, radius, style
            )
        )

    def path(self, points: Sequence[tuple[float, float]], style: str) -> None:
        """A line through all points."""
        if len(points) > 1:
            places = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
            self._parts.append(Markup('<path d="M{}" class="{}"/>').format(places, style))

    def arc(  # noqa: PLR0913 - three points, and what it looks like
        self,
        begin: tuple[float, float],
        end: tuple[float, float],
        *,
        far_x: float,
        thickness: float,
        style: str,
        title: str,
    ) -> None:
        """A curve between two points one below the other that reaches ``far_x`` between them."""
        # A cubic whose control points lie so far out that its middle, at 3/4 of the way, is far_x.
        control_x = begin[0] + (far_x - begin[0]) * 4 / 3
        self._parts.append(
            Markup(
                '<path d="M{:.1f} {:.1f}C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}"'
                ' class="{}" stroke-width="{:.1f}">{}</path>'
            ).format(
                *begin,
                control_x,
                begin[1],
                control_x,
                end[1],
                *end,
                style,
                thickness,
                _title(title),
            )
        )

    def reuse(self, symbol: str, x: float, y: float, width: float, height: float) -> None:
        """A symbol of the page, stretched into a box."""
        self._parts.append(
            Markup('<use href="#{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>').format(
                symbol, x, y, width, height
            )
        )

    def text(  # noqa: PLR0913 - where, what, and how it looks
        self,
        x: float,
        y: float,
        text: str,
        anchor: Literal["start", "middle", "end"] = "start",
        style: str = "label",
        *,
        title: str = "",
    ) -> None:
        """A text with its baseline at ``y``; ``title`` is its tooltip."""
        self._parts.append(
            Markup('<text x="{:.1f}" y="{:.1f}" text-anchor="{}" class="{}">{}{}</text>').format(
                x, y, anchor, style, _title(title), text
            )
        )

    def image(  # noqa: PLR0913 - a box, and which part of it
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        png: bytes,
        *,
        part: tuple[float, float],
        box: tuple[int, int],
    ) -> None:
        """A raster image, stretched without smoothing over a part of the width of a ``box``.

        The box is stretched to the width and height, so that a script can show a part of it.
        """
        encoded = base64.b64encode(png).decode()
        begin, end = (share * box[0] for share in part)
        self._parts.append(
            Markup(
                '<svg x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" viewBox="0 0 {} {}"'
                ' class="stretched" preserveAspectRatio="none"><image x="{:.1f}" width="{:.1f}"'
                ' height="{}" class="pixels" preserveAspectRatio="none"'
                ' href="data:image/png;base64,{}"/></svg>'
            ).format(x, y, width, height, *box, begin, end - begin, box[1], encoded)
        )

    def markup(self) -> Markup:
        """The drawing; hidden from screen readers, which get the text and the table."""
        opening = Markup('<svg viewBox="0 0 {0} {1}" width="{0}" height="{1}" aria-hidden="true">')
        return (
            opening.format(self._width, self._height)
            + Markup("").join(self._parts)
            + Markup("</svg>")
        )


def _title(title: str) -> Markup:
    return Markup("<title>{}</title>").format(title) if title else Markup("")


def png_of_rgba(pixels: NDArray[np.uint8]) -> bytes:
    """A PNG file from (height, width, 4) values."""
    height, width, _ = pixels.shape
    lines = np.concatenate([np.zeros((height, 1), np.uint8), pixels.reshape(height, -1)], axis=1)
    header = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(lines.tobytes(), 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_png_part(name, content) for name, content in parts)


def _png_part(name: bytes, content: bytes) -> bytes:
    checked = name + content
    return struct.pack(">I", len(content)) + checked + struct.pack(">I", zlib.crc32(checked))
