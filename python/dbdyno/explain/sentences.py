"""Sentences that several rules share."""

import math
from collections.abc import Sequence

from msgspec import Struct

from dbdyno.analysis.search.bounds import gain_factor
from dbdyno.analysis.summarize import has_its_rate
from dbdyno.explain.resources.failing import did_nothing
from dbdyno.explain.resources.processors import own_utilization
from dbdyno.explain.rule import NOTICED
from dbdyno.formatting import PRODUCTS, significant, tps
from dbdyno.model.run import Run

_FACTOR_SHOWN_MAX = 100
_FACTOR_MIN = 1 + NOTICED


class Gains(Struct, frozen=True, kw_only=True):
    """What a run lets a finding promise."""

    did_nothing: bool = False
    """Then nothing is promised: there is no throughput to begin with."""
    has_its_rate: bool = False
    """Then response times fall instead."""

    def text(self, share: float) -> str:
        """What removing a cause with this share of client time, or of the run, can gain."""
        return self.rise(gain_factor(share)) if share >= NOTICED else ""

    def rise(self, factor: float, limit: str = "") -> str:
        """Throughput can rise by at most this factor, and what limits it further.

        If the share is next to all of the time, its inverse is a measurement error.
        """
        is_shown = factor <= _FACTOR_SHOWN_MAX
        by = f"at most {factor:.3g}" if is_shown else f"{_FACTOR_SHOWN_MAX} or more"
        return self.in_throughput(f"Throughput rises by a factor of {by}{limit}.")

    def in_throughput(self, gain: str) -> str:
        """The gain in throughput; in response times if the arrival rate is fixed."""
        if self.did_nothing:
            return ""
        return "Response times fall; the rate stays as requested." if self.has_its_rate else gain


class GainsOfWaits(Gains, frozen=True, kw_only=True):
    """The same for causes that take no CPU time: the CPU is then the next limit."""

    utilization: float | None = None
    """The share of CPU time that server and engine use; None if it is not known."""

    def text(self, share: float) -> str:
        """What removing a cause with this share of client time can gain."""
        factor = gain_factor(share, self.utilization)
        if share >= NOTICED and factor < _FACTOR_MIN:
            return self.in_throughput("Throughput hardly rises: the CPU is already saturated.")
        limit = "; the CPU is then saturated" if factor < gain_factor(share) else ""
        if self.utilization is None:
            limit = ", unless the CPU, whose utilization is not known, is saturated before"
        return self.rise(factor, limit) if share >= NOTICED else ""


def gains_in(run: Run) -> Gains:
    """What the run lets findings promise."""
    return Gains(did_nothing=did_nothing(run), has_its_rate=has_its_rate(run))


def gains_of_waits_in(run: Run) -> GainsOfWaits:
    """The same for causes that take no CPU time."""
    return GainsOfWaits(
        did_nothing=did_nothing(run),
        has_its_rate=has_its_rate(run),
        utilization=own_utilization(run),
    )


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


def and_so_on(names: Sequence[str], limit: int = 3) -> str:
    """The first few of a list, and how many more there are."""
    rest = len(names) - limit
    return ", ".join(names[:limit]) + (f" and {rest} more" if rest > 0 else "")
