"""Sentences that several rules share."""

import math
from collections.abc import Sequence

from dbdyno.formatting import milliseconds, significant, tps

_SERVER_KINDS = frozenset({"postgres", "mariadb", "mysql"})
"""Words after ``--server``: a sentence that begins with one keeps its small letter."""


def bound_text(bound_tps: float, range_tps: tuple[float, float] | None, unit: str = "TPS") -> str:
    """A bound with its interval: ``2 500 TPS (2 310 to 2 720)``."""
    if range_tps is None:
        return f"{tps(bound_tps)} {unit}"
    low, high = range_tps
    upper = "" if math.isinf(high) else f" to {tps(high)}"
    return f"{tps(bound_tps)} {unit} ({tps(low)}{upper or ' or more'})"


def bound_exceeded_text(bound_tps: float, measured_tps: float) -> str:
    """The text on a row's bound that was exceeded."""
    return (
        f"The hold time that clients see allows {tps(bound_tps)} TPS, but {tps(measured_tps)} were "
        "measured: the server releases the row before clients receive the commit."
    )


def amount(of: float, one: str, many: str) -> str:
    """A number with its noun; what rounds to one is singular."""
    number = significant(of)
    return f"{number} {one if number == '1' else many}"


def capitalized(text: str) -> str:
    """Add a capital and a full stop; a name at the beginning and the rest are unchanged.

    Names are words with an underscore, and the kinds of servers.
    """
    first = text.split(" ", 1)[0]
    is_name = "_" in first or first.rstrip(":") in _SERVER_KINDS
    sentence = text if is_name else text[:1].upper() + text[1:]
    return sentence if sentence.endswith((".", "!", "?")) else sentence + "."


def and_so_on(names: Sequence[str], limit: int = 3) -> str:
    """The first few of a list, and how many more there are."""
    rest = len(names) - limit
    return ", ".join(names[:limit]) + (f" and {rest} more" if rest > 0 else "")


def loss_allowed_text(loss_ms: float | None) -> str:
    """What the settings allow an event to lose, as in the record of a failover."""
    if loss_ms is None:
        return "any"
    return f"the last {milliseconds(loss_ms)}" if loss_ms else "none"
