"""Sentences that several rules share."""

import math

from dbdyno.analysis.bounds import gain_factor
from dbdyno.explain.case import Case
from dbdyno.explain.failing import did_nothing
from dbdyno.explain.processors import own_utilization
from dbdyno.explain.rule import NOTICED
from dbdyno.formatting import PRODUCTS, significant, tps

_FACTOR_SHOWN_MAX = 100
_FACTOR_MIN = 1 + NOTICED


def gain_text(case: Case, share: float) -> str:
    """What removing a cause with this share of client time, or of the run, can gain."""
    return rise_text(case, gain_factor(share)) if share >= NOTICED else ""


def gain_of_waits(case: Case, share: float) -> str:
    """The same for a cause that takes no CPU time: the CPU is then the next limit."""
    utilization = own_utilization(case)
    factor = gain_factor(share, utilization)
    if share >= NOTICED and factor < _FACTOR_MIN:
        return in_throughput(case, "Throughput hardly rises: the CPU is already saturated.")
    limit = "; the CPU is then saturated" if factor < gain_factor(share) else ""
    if utilization is None:
        limit = ", unless the CPU, whose utilization is not known, is saturated before"
    return rise_text(case, factor, limit) if share >= NOTICED else ""


def rise_text(case: Case, factor: float, limit: str = "") -> str:
    """Throughput can rise by at most this factor, and what limits it further.

    If the share is next to all of the time, its inverse is a measurement error.
    """
    is_shown = factor <= _FACTOR_SHOWN_MAX
    by = f"at most {factor:.3g}" if is_shown else f"{_FACTOR_SHOWN_MAX} or more"
    return in_throughput(case, f"Throughput rises by a factor of {by}{limit}.")


def in_throughput(case: Case, gain: str) -> str:
    """The gain in throughput; in response times if the arrival rate is fixed.

    For a load that did no work no gain is known: there is no throughput to begin with.
    """
    if did_nothing(case):
        return ""
    if case.has_its_rate:
        return "Response times fall; the rate stays as requested."
    return gain


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
    is_name = "_" in first or first.rstrip(":") in PRODUCTS
    sentence = text if is_name else text[:1].upper() + text[1:]
    return sentence if sentence.endswith((".", "!", "?")) else sentence + "."


def and_so_on(names: list[str], limit: int = 3) -> str:
    """The first few of a list, and how many more there are."""
    rest = len(names) - limit
    return ", ".join(names[:limit]) + (f" and {rest} more" if rest > 0 else "")
