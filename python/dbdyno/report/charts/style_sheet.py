"""The page's style sheet as it applies to drawings on paper, computed for one shape at a time.

Only what drawings use: selectors of an element's name and classes, custom properties, and mixtures
of two colours. A drawing outside of a page has no style sheet to follow.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from msgspec import Struct

_FOLDER = Path(__file__).parents[1] / "templates"
_SHEETS = ("report.css", "curves.css")
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
_SELECTOR = re.compile(r"(?P<name>[a-z]*)(?P<classes>(?:\.[\w-]+)*)")
_VARIABLE = re.compile(r"var\((--[\w-]+)\)")
_MIXTURE = re.compile(r"color-mix\(in srgb, (#\w{3,6}) (\d+)%, (#\w{3,6})\)")
_OF_SHAPES = {
    "fill": "fill",
    "font-size": "font-size",
    "image-rendering": "image-rendering",
    "opacity": "opacity",
    "paint-order": "paint-order",
    "stroke": "stroke",
    "stroke-dasharray": "stroke-dasharray",
    "stroke-linecap": "stroke-linecap",
    "stroke-linejoin": "stroke-linejoin",
    "stroke-width": "stroke-width",
}
"""Properties of shapes, which are attributes of the same name."""


class _Rule(Struct, frozen=True):
    name: str
    classes: frozenset[str]
    declarations: Mapping[str, str]

    def applies_to(self, name: str, classes: frozenset[str]) -> bool:
        return self.name in ("", name) and self.classes <= classes


class StyleSheet(Struct, frozen=True):
    """Rules in their order, and the custom properties of a page on paper."""

    rules: list[_Rule]
    palette: Mapping[str, str]

    def attributes(self, name: str, classes: str, own: str) -> dict[str, str]:
        """The attributes of a shape, by its name, its classes and its own declarations."""
        wanted = frozenset(classes.split())
        applied = [rule for rule in self.rules if rule.applies_to(name, wanted)]
        found: dict[str, str] = {}
        for rule in sorted(applied, key=lambda rule: (len(rule.classes), bool(rule.name))):
            found |= rule.declarations
        found |= _declarations(own)
        known = {**self.palette, **{name: found[name] for name in found if name.startswith("--")}}
        return {
            attribute: self.computed(found[name], known)
            for name, attribute in _OF_SHAPES.items()
            if name in found
        }

    def computed(self, value: str, known: Mapping[str, str] | None = None) -> str:
        """A value without custom properties and mixtures."""
        variables = self.palette if known is None else known
        while match := _VARIABLE.search(value):
            value = value.replace(match[0], variables[match[1]])
        value = _MIXTURE.sub(lambda match: _mixed(match[1], int(match[2]) / 100, match[3]), value)
        return value.removesuffix("px")


@cache
def on_paper() -> StyleSheet:
    """The style sheet of all pages, printed."""
    text = "".join((_FOLDER / name).read_text("utf-8") for name in _SHEETS)
    text = _COMMENT.sub("", text)
    # Rules within a condition are not for every medium; of those for paper, the colours are.
    plain = re.sub(r"@media[^{]*\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}", "", text)
    printed = re.search(r"@media print \{\s*:root \{([^}]*)\}", text)
    assert printed is not None
    first = re.search(r":root \{([^}]*)\}", text)
    assert first is not None
    palette = {**_declarations(first[1]), **_declarations(printed[1])}
    return StyleSheet(list(_rules(plain)), palette)


def _rules(text: str) -> Iterator[_Rule]:
    for selectors, declarations in _RULE.findall(text):
        for selector in selectors.split(","):
            match = _SELECTOR.fullmatch(selector.strip())
            if match is not None:
                classes = frozenset(filter(None, match["classes"].split(".")))
                yield _Rule(match["name"], classes, _declarations(declarations))


def _declarations(text: str) -> dict[str, str]:
    pairs = (line.partition(":") for line in text.split(";"))
    return {name.strip(): value.strip() for name, _, value in pairs if value}


def _mixed(one: str, share: float, other: str) -> str:
    parts = zip(_parts(one), _parts(other), strict=True)
    return "#" + "".join(f"{round(a * share + b * (1 - share)):02x}" for a, b in parts)


def _parts(colour: str) -> list[int]:
    digits = colour[1:] if len(colour) == 7 else "".join(digit * 2 for digit in colour[1:])
    return [int(digits[place : place + 2], 16) for place in (0, 2, 4)]
