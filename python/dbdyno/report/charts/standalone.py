"""A figure of a page as a drawing of its own, which needs no page: for papers, slides, issues.

The shapes are the page's. What the page adds to them is written into each: its colours as on paper
(most programs that read SVG know no custom properties), and the place of what it stretches (few
know strokes that are not stretched). Around them are what the page says in words: the title, the
meaning of the colours, the axes, the caption.
"""

import re
from collections.abc import Iterator, Sequence
from textwrap import wrap
from xml.etree import ElementTree as Xml

from markupsafe import Markup
from msgspec import Struct

from dbdyno.layout import visible
from dbdyno.report.charts.plot import CHARACTER, WIDE
from dbdyno.report.charts.style_sheet import on_paper
from dbdyno.report.charts.time_chart import time_chart
from dbdyno.report.content import Figure, LineChart

FACE = "DejaVu Sans"
"""The face whose widths the drawings are made for; PNG files are drawn with it."""
_FACES = f"{FACE}, Verdana, Helvetica, Arial, sans-serif"
_MARGIN = 20
_TITLE, _TEXT, _SMALL = 15, 12, 11
_LINE, _LINE_OF_KEY, _LINE_OF_CAPTION = 22, 20, 15
_SQUARE = 10
_UNITS = {
    "tps": "transactions per second",
    "ms": "response time",
    "sessions": "sessions",
}
_STEP = re.compile(r"([A-Za-z])([^A-Za-z]*)")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


class _Place(Struct, frozen=True):
    """Where in the drawing a box lies that is stretched: what its points become."""

    x: float = 0.0
    y: float = 0.0
    across: float = 1.0
    down: float = 1.0

    def of_path(self, steps: str) -> str:
        return "".join(
            letter + " ".join(self._moved(letter, [*map(float, _NUMBER.findall(numbers))]))
            for letter, numbers in _STEP.findall(steps)
        )

    def _moved(self, letter: str, numbers: Sequence[float]) -> Iterator[str]:
        is_relative = letter.islower()
        for place, number in enumerate(numbers):
            is_across = letter in "Hh" or (letter not in "Vv" and place % 2 == 0)
            scale, begin = (self.across, self.x) if is_across else (self.down, self.y)
            yield _short(number * scale + (0.0 if is_relative else begin))


def standalone(figure: Figure, source: str) -> str:
    """The figure as an SVG document; ``source`` says where its numbers come from."""
    drawing = Xml.fromstring(f"<div>{visible(_markup(figure))}</div>")
    symbols = {one.get("id", ""): one for one in drawing.iter("symbol")}
    inner = next(svg for svg in drawing.iter("svg") if svg.get("width") == str(WIDE) and len(svg))
    parts: list[Xml.Element] = []
    x_title, y_title = _axes(figure)
    y = _MARGIN + _TITLE
    for line in wrap(figure.table.caption, int(WIDE / CHARACTER / 1.2)):
        parts.append(_text(0, y, line, size=_TITLE, colour="--ink"))
        y += _LINE
    y += sum(_add_key(parts, figure.key, y))
    if y_title:
        parts.append(_text(0, y, y_title, size=_TEXT))
        y += 6
    body = Xml.Element("g", transform=f"translate(0 {y})")
    body.extend(_flat(inner, symbols, _Place()))
    parts.append(body)
    y += round(float(inner.get("height", "0"))) + 12
    if x_title:
        parts.append(_text(WIDE / 2, y, x_title, size=_TEXT, anchor="middle"))
        y += _LINE
    y += 4
    for line in [*wrap(figure.caption, int(WIDE / CHARACTER)), source]:
        parts.append(_text(0, y, line, size=_SMALL))
        y += _LINE_OF_CAPTION
    return _document(figure, parts, y + _MARGIN - _LINE_OF_CAPTION + 6)


def _markup(figure: Figure) -> Markup:
    if figure.chart is not None:
        return time_chart(figure.id, figure.chart)
    assert figure.svg is not None
    return figure.svg[0]


def _axes(figure: Figure) -> tuple[str, str]:
    """The titles of the axes, if they are not in the drawing."""
    if isinstance(figure.chart, LineChart):
        return "time since the start of the run", _UNITS[figure.chart.unit]
    return figure.axes


def _document(figure: Figure, parts: Sequence[Xml.Element], height: float) -> str:
    width = WIDE + 2 * _MARGIN
    root = Xml.Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "width": str(width),
            "height": f"{height:.0f}",
            "viewBox": f"0 0 {width} {height:.0f}",
            "font-family": _FACES,
            "font-size": str(_TEXT),
            "role": "img",
        },
    )
    Xml.SubElement(root, "title").text = visible(figure.table.caption)
    Xml.SubElement(root, "desc").text = visible(figure.summary)
    paper = on_paper().computed("var(--page)")
    Xml.SubElement(root, "rect", width="100%", height="100%", fill=paper)
    group = Xml.SubElement(root, "g", transform=f"translate({_MARGIN} 0)")
    group.extend(parts)
    return Xml.tostring(root, "unicode") + "\n"


def _add_key(parts: list[Xml.Element], key: Sequence[tuple[str, str]], top: float) -> Iterator[int]:
    """The colours with their meaning, in lines; yields the height of each."""
    x, y = 0.0, top
    for colour, name in key:
        room = _SQUARE + 6 + len(name) * CHARACTER + 18
        if x and x + room > WIDE:
            x, y = 0.0, y + _LINE_OF_KEY
            yield _LINE_OF_KEY
        square = {"x": f"{x:.1f}", "y": f"{y - _SQUARE:.1f}", "fill": _colour(colour)}
        size = str(_SQUARE)
        parts.append(Xml.Element("rect", {**square, "width": size, "height": size, "rx": "2"}))
        parts.append(_text(x + _SQUARE + 6, y, name, size=_TEXT))
        x += room
    if key:
        yield _LINE_OF_KEY


def _flat(
    parent: Xml.Element, symbols: dict[str, Xml.Element], place: _Place
) -> Iterator[Xml.Element]:
    """The shapes of a drawing, each with its own looks, where they are seen."""
    for shape in parent:
        if shape.tag == "use":
            symbol = symbols[shape.get("href", "").removeprefix("#")]
            yield from _flat(symbol, symbols, _stretched(shape, symbol))
        elif shape.tag == "svg":
            yield from _flat(shape, symbols, _stretched(shape, shape))
        elif "plot" not in shape.get("class", "").split():
            yield _dressed(shape, place)


def _stretched(box: Xml.Element, contents: Xml.Element) -> _Place:
    """How the contents fill a box, whatever their proportions."""
    x, y, width, height = (float(box.get(name, "0")) for name in ("x", "y", "width", "height"))
    _, _, own_width, own_height = map(float, contents.get("viewBox", "0 0 1 1").split())
    return _Place(x, y, width / own_width, height / own_height)


def _dressed(shape: Xml.Element, place: _Place) -> Xml.Element:
    given = dict(shape.attrib)
    looks = on_paper().attributes(shape.tag, given.pop("class", ""), given.pop("style", ""))
    for name in [name for name in given if name.startswith("data-")]:
        del given[name]
    if shape.tag == "path":
        given["d"] = place.of_path(given["d"])
    elif shape.tag == "image":
        given |= {
            "x": _short(float(given.get("x", "0")) * place.across + place.x),
            "y": _short(float(given.get("y", "0")) * place.down + place.y),
            "width": _short(float(given["width"]) * place.across),
            "height": _short(float(given["height"]) * place.down),
        }
    dressed = Xml.Element(shape.tag, {**looks, **given})
    dressed.text = shape.text
    for title in shape:
        dressed.append(title)
    return dressed


def _text(  # noqa: PLR0913 - where, what, and how it looks
    x: float,
    y: float,
    text: str,
    *,
    size: int,
    colour: str = "--muted",
    anchor: str = "start",
) -> Xml.Element:
    place = {"x": f"{x:g}", "y": f"{y:g}", "font-size": str(size), "text-anchor": anchor}
    element = Xml.Element("text", {**place, "fill": _colour(colour)})
    element.text = visible(text)
    return element


def _colour(name: str) -> str:
    return on_paper().computed(f"var({name})")


def _short(number: float) -> str:
    return f"{number:.3f}".rstrip("0").rstrip(".")
