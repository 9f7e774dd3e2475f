"""Values with their 95 % intervals, as text for table cells and for sentences."""

from collections.abc import Callable
from typing import TypeAlias

from dbdyno.analysis.statistics.estimate import IntervalEstimate, Ratio
from dbdyno.formatting import NOTHING, significant
from dbdyno.model.comparison import MetricComparison

Interval: TypeAlias = Ratio | IntervalEstimate
"""A value with its 95 % interval, which may be unknown."""


INTERVAL_NOTE = (
    "In brackets the 95 % interval between runs; (?) where too few runs give a useful interval."
)


USELESS = 10.0  # an interval whose ends differ by this factor is useless


def is_useless(of: Interval) -> bool:
    """The runs were too few: the interval, if there is one, says hardly anything."""
    return of.low is None or of.high is None or of.high > USELESS * of.low


def interval_text(of: Interval | None, format_value: Callable[[float], str] = significant) -> str:
    """A value with its interval, for a table cell."""
    if of is None:
        return NOTHING
    if of.low is None or of.high is None:
        return format_value(of.value)
    if is_useless(of):
        return f"{format_value(of.value)} (?)"
    return f"{format_value(of.value)} ({format_value(of.low)} to {format_value(of.high)})"


def interval_sentence(of: Interval, format_value: Callable[[float], str] = significant) -> str:
    """A value with its interval, for a sentence: ``1.82 (95 %: 1.6 to 2.05)``."""
    if of.low is None or of.high is None:
        return f"{format_value(of.value)} (no interval)"
    if is_useless(of):
        return f"{format_value(of.value)} (too few runs for a useful interval)"
    return f"{format_value(of.value)} (95 %: {format_value(of.low)} to {format_value(of.high)})"


def range_text(
    of: Interval | MetricComparison, format_value: Callable[[float], str] = significant
) -> str:
    """An interval alone, for a table cell."""
    if of.low is None or of.high is None:
        return NOTHING
    return f"{format_value(of.low)} to {format_value(of.high)}"


def in_brackets(
    of: Interval, format_value: Callable[[float], str] = significant, between: str = ""
) -> str:
    """An interval after its value: `` (95 %: 1.6 to 2.05)``; nothing if it is not known."""
    known = range_text(of, format_value)
    return "" if known == NOTHING else f" (95 %{between}: {known})"


def times_of(of: Interval | MetricComparison) -> str:
    """A ratio in a sentence: ``1.82 times (95 %: 1.6 to 2.05)``."""
    value = of.ratio if isinstance(of, MetricComparison) else of.value
    if of.low is None or of.high is None:
        return f"{significant(value)} times (one pair, no interval)"
    if of.high > USELESS * of.low:
        return f"{significant(value)} times (too few pairs for a useful interval)"
    alone = isinstance(of, MetricComparison) and of.method == "single runs"
    interval = f"95 %{' within the runs' if alone else ''}"
    return (
        f"{significant(value)} times ({interval}: {significant(of.low)} to {significant(of.high)})"
    )


def lowered(text: str) -> str:
    """A title or a sentence within a sentence, in lower case; names in capitals stay."""
    return text if text[:2].isupper() else f"{text[:1].lower()}{text[1:]}"
