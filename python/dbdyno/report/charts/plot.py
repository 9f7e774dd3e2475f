"""The frame of a static chart: its axes with grid lines, ticks and titles.

The contents are drawn by others; nothing here knows what the numbers are.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise

from markupsafe import Markup
from msgspec import Struct

from dbdyno.formatting import significant
from dbdyno.report.charts.scales import Scale, linear_ticks, log_scale, log_ticks
from dbdyno.report.charts.svg import Drawing

WIDE, MIDDLE, NARROW = 920, 590, 340
"""Widths of drawings: the style sheet shows one, so that its text is as large as the page's."""
LEFT, TOP, BOTTOM = 58, 30, 44
TITLE_Y = 16
LINE = 15
CHARACTER = 6.4  # width of a character of the page's face at 12 px, on average
TICK_GAP = 10
_LEVELS_MAX = 9
_LINEAR_MARGIN = 1.04

Format = Callable[[float], str]


def at_each_width(draw: Callable[[int], Markup]) -> tuple[Markup, ...]:
    """The same drawing for a wide, a middle and a narrow page."""
    return tuple(draw(width) for width in (WIDE, MIDDLE, NARROW))


class Frame(Struct, frozen=True):
    """The two scales of a chart: from left to right, and from bottom to top."""

    across: Scale
    up: Scale


def scale_of(values: Sequence[float], begin: float, end: float, *, is_log: bool) -> Scale:
    """A scale that contains the values; a linear one begins at 0."""
    if is_log:
        positive = [value for value in values if value > 0]
        return log_scale(min(positive), max(positive), begin, end)
    return Scale(0.0, max(*values, 0.0) * _LINEAR_MARGIN or 1.0, begin, end)


def ticks_of(scale: Scale, *, is_log: bool) -> list[float]:
    """Round values along a scale."""
    return log_ticks(scale.low, scale.high) if is_log else linear_ticks(scale.high)


def level_ticks(values: Sequence[float], scale: Scale, *, is_log: bool) -> list[float]:
    """The measured levels if they are few; of two whose words would touch, the later is dropped."""
    levels = sorted(set(values))
    if len(levels) > _LEVELS_MAX:
        return ticks_of(scale, is_log=is_log)
    kept: list[float] = []
    for level in levels:
        words = "".join(map(significant, [level, *kept[-1:]]))
        room = len(words) / 2 * CHARACTER + TICK_GAP
        if not kept or scale(level) - scale(kept[-1]) >= room:
            kept.append(level)
    return kept


def left_of(y_ticks: Sequence[float]) -> float:
    """Where the axes begin: all charts at the same place, unless a tick takes more room."""
    longest = max(len(significant(tick)) for tick in y_ticks)
    return max(LEFT, longest * CHARACTER + TICK_GAP)


def draw_axes(  # noqa: PLR0913 - both axes: their ticks, titles, and the words of one
    drawing: Drawing,
    frame: Frame,
    x_ticks: Sequence[float],
    y_ticks: Sequence[float],
    *,
    titles: tuple[str, str],
    x_format: Format = significant,
) -> None:
    """Draw horizontal grid lines, ticks along the bottom, both titles."""
    across, up = frame.across, frame.up
    for tick in y_ticks:
        drawing.line(across.begin, up(tick), across.end, up(tick), "rule")
        drawing.text(across.begin - 8, up(tick) + 4, significant(tick), "end")
    for tick in x_ticks:
        drawing.line(across(tick), up.begin, across(tick), up.begin + 4, "rule")
        text = x_format(tick)
        middle = min(across(tick), drawing.width - len(text) * CHARACTER / 2)
        drawing.text(middle, up.begin + 18, text, "middle")
    x_title, y_title = titles
    middle = (across.begin + across.end) / 2
    drawing.text(middle, up.begin + 36, x_title, "middle", "title")
    drawing.text(0, TITLE_Y, y_title, "start", "title")


def set_apart(places: Sequence[float], least: float, lowest: float) -> list[float]:
    """Move places apart until all have the least distance, and none is below the lowest."""
    order = sorted(range(len(places)), key=places.__getitem__)
    moved = list(places)
    for before, after in pairwise(order):
        moved[after] = max(moved[after], moved[before] + least)
    for rank, place in enumerate(reversed(order)):
        moved[place] = min(moved[place], lowest - rank * least)
    return moved
