"""Number formats for people: three significant digits, a unit, thin spaces between thousands.

The only place with these rules for findings and reports; ``frontend/src/format.ts`` formats the
numbers of live charts by the same rules. Knows nothing of what a number means.
"""

import math

THIN_SPACE = "\u202f"
NOTHING = "–"
_LEAST = 1e-4
"""Less of any unit is rounding error, or of no concern."""


def plain(text: str) -> str:
    """Replace thin spaces, for terminals and logs, where each character has the same width."""
    return text.replace(THIN_SPACE, " ")


def milliseconds(value: float | None) -> str:
    """Format a time given in milliseconds, in the unit that suits it."""
    if value is None or math.isnan(value):
        return NOTHING
    if value == 0:
        return "0"
    if value >= 999.5:
        return f"{significant(value / 1000)}{THIN_SPACE}s"
    if value >= 0.9995:
        return f"{significant(value)}{THIN_SPACE}ms"
    return f"{significant(value * 1000)}{THIN_SPACE}µs"


def significant(value: float) -> str:
    """Format with three significant digits, never in powers of ten, and no digits of dust."""
    if value == 0 or math.isnan(value):
        return "0" if value == 0 else NOTHING
    if abs(value) >= 99.95:
        return count(value)
    if abs(value) < _LEAST:
        return f"{'<' if value > 0 else '>'}{THIN_SPACE}{math.copysign(_LEAST, value)}"
    return f"{value:.3g}"


def count(value: float) -> str:
    """Format a whole number."""
    return f"{value:,.0f}".replace(",", THIN_SPACE)


def counted(number: int, noun: str) -> str:
    """``1 note``, ``2 notes``, ``3 switches``."""
    ending = "es" if noun.endswith(("s", "x", "ch", "sh")) else "s"
    return f"{number} {noun}" if number == 1 else f"{number} {noun}{ending}"


def tps(value: float | None) -> str:
    """Format a rate in transactions per second."""
    return NOTHING if value is None else significant(value)


def percent(share: float) -> str:
    """Format a share as a percentage, with enough digits to distinguish it from zero."""
    return f"{significant(share * 100)}{THIN_SPACE}%"


def size(value: float) -> str:
    """Format bytes in binary units."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{significant(value)}{THIN_SPACE}{unit}"
        value /= 1024
    return f"{significant(value)}{THIN_SPACE}TiB"


def gigabytes(count: float) -> str:
    """Format bytes of disk space, in decimal units as disk makers use them."""
    return f"{count / 1e9:.1f} GB" if count >= 1e8 else f"{count / 1e6:.0f} MB"


def seconds(value: float) -> str:
    """Format a duration, or a time since the start of the run."""
    sign, total = ("−" if value < 0 else ""), abs(value)
    if total < 120:
        return f"{sign}{significant(total)}{THIN_SPACE}s"
    minutes, rest = divmod(round(total), 60)
    hours, minutes = divmod(minutes, 60)
    parts = ((hours, "h"), (minutes, "min"), (rest, "s"))
    return sign + " ".join(f"{value}{THIN_SPACE}{unit}" for value, unit in parts if value)


def roughly(value: float) -> str:
    """Format an estimated duration, in which nobody counts seconds."""
    if value < 120:
        return f"{value:.0f} s"
    if value < 600:
        return f"{value / 60:.2g} min"
    minutes = round(value / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02} min"
