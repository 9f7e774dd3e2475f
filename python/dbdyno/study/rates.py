"""How fast this machine prepares data and servers, for the plans of studies.

Begins with modest guesses; each study that runs puts what it measured in their place. Nothing
but estimates rests on it.
"""

from collections.abc import Mapping

from msgspec import Struct

from dbdyno.study.asking import Asked

SMALL_BYTES = 100_000_000
"""Below this a turn's preparation is all starting and settling."""


class Rates(Struct, frozen=True, kw_only=True):
    """Seconds and bytes a second of what surrounds a run."""

    load_bytes_per_s: float = 40e6
    restore_bytes_per_s: float = 300e6
    """Copying, reading back into the cache, vacuum and checkpoint together."""
    start_s: float = 2.5
    """A server's start and end, and what small data costs."""
    other_s: float = 0.5
    """What follows a run: its explanation and its files."""


RATES_MIN = 1e-3


def rates_from(kept: Mapping[str, float]) -> Rates:
    """The rates, those that were measured before the guesses."""
    known = {name: kept[name] for name in Rates.__struct_fields__ if kept.get(name, 0) > RATES_MIN}
    return Rates(**known)


def prepare_s(asked: Asked, rates: Rates) -> float:
    """What making a point ready will take each time."""
    return rates.start_s + asked.data_bytes / rates.restore_bytes_per_s


def load_s(asked: Asked, rates: Rates) -> float:
    """What loading its data will take once."""
    return rates.start_s + asked.data_bytes / rates.load_bytes_per_s


def measured_turn(
    asked: Asked, prepared_s: float, other_s: float, rates: Rates
) -> dict[str, float]:
    """What a turn taught."""
    if asked.data_bytes < SMALL_BYTES:
        return {"start_s": prepared_s, "other_s": other_s}
    copying_s = prepared_s - rates.start_s
    if copying_s <= 0:
        return {"other_s": other_s}
    return {"restore_bytes_per_s": asked.data_bytes / copying_s, "other_s": other_s}


def measured_load(asked: Asked, elapsed_s: float) -> dict[str, float]:
    """What loading taught; small data loads in no time that could be told."""
    if asked.data_bytes < SMALL_BYTES:
        return {}
    return {"load_bytes_per_s": asked.data_bytes / elapsed_s}
