"""Colours contrast with the page as WCAG AA requires: light, dark and on paper.

The browser's own check covers the text of the page, but nothing that is drawn.
"""

import re
from importlib.resources import files

import pytest

STYLE = (files("dbdyno.report") / "templates" / "report.css").read_text("utf-8")
THEMES = dict(
    zip(("light", "dark", "paper"), re.findall(r":root {(.*?)}", STYLE, re.S), strict=True)
)
TEXT_LEAST, DRAWN_LEAST = 4.5, 3.0
FAINT = {"page", "ground", "rule"}


def luminance(colour: str) -> float:
    digits = colour if len(colour) == 6 else "".join(one * 2 for one in colour)
    shares = [int(digits[place : place + 2], 16) / 255 for place in (0, 2, 4)]
    red, green, blue = (
        share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted(map(luminance, (one, other)))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("theme", THEMES)
def test_what_is_to_be_seen_stands_out(theme):
    colours = dict(re.findall(r"--([\w-]+): #(\w+);", THEMES[theme]))
    shown = {name: contrast(colours[name], colours["page"]) for name in colours.keys() - FAINT}
    assert len(shown) > 10
    least = {name: DRAWN_LEAST if name.startswith("wait-") else TEXT_LEAST for name in shown}
    assert {name: found for name, found in shown.items() if found < least[name]} == {}
