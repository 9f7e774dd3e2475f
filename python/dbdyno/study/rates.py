"""How fast this host prepares data and servers, for the plans of studies.

Starts with modest guesses, which each study that runs replaces by what it measured. Only estimates
depend on it.
"""

from collections.abc import Mapping

from msgspec import Struct

from dbdyno.study.resolved_point import ResolvedPoint

SMALL_BYTES = 100_000_000
"""Below this, a turn's preparation consists of starting and settling."""


class Rates(Struct, frozen=True, kw_only=True):
    """Seconds, and bytes per second, of what surrounds a run."""

    load_bytes_per_s: float = 40e6
    restore_bytes_per_s: float = 300e6
    """Copying, reading back into the cache, vacuum and checkpoint together."""
    start_s: float = 2.5
    """Start and end of a server, and the overhead of small data."""
    other_s: float = 0.5
    """What follows a run: its explanation and its files."""


RATES_MIN = 1e-3


def rates_from(kept: Mapping[str, float]) -> Rates:
    """Return the rates; measured ones take precedence over the guesses."""
    known = {name: kept[name] for name in Rates.__struct_fields__ if kept.get(name, 0) > RATES_MIN}
    return Rates(**known)


def prepare_s(point: ResolvedPoint, rates: Rates) -> float:
    """Estimate the time to prepare a point, each time."""
    return rates.start_s + point.data_bytes / rates.restore_bytes_per_s


def load_s(point: ResolvedPoint, rates: Rates) -> float:
    """Estimate the time to load its data, once."""
    return rates.start_s + point.data_bytes / rates.load_bytes_per_s


def measured_turn(
    point: ResolvedPoint, prepared_s: float, other_s: float, rates: Rates
) -> dict[str, float]:
    """Return the rates that a turn measured."""
    if point.data_bytes < SMALL_BYTES:
        return {"start_s": prepared_s, "other_s": other_s}
    copying_s = prepared_s - rates.start_s
    if copying_s <= 0:
        return {"other_s": other_s}
    return {"restore_bytes_per_s": point.data_bytes / copying_s, "other_s": other_s}


def measured_load(point: ResolvedPoint, elapsed_s: float) -> dict[str, float]:
    """Return the rates that loading measured; small data loads too fast to tell."""
    if point.data_bytes < SMALL_BYTES:
        return {}
    return {"load_bytes_per_s": point.data_bytes / elapsed_s}
