"""The server's settings as numbers, converted from the unit in which the server keeps them.

A setting that was not recorded ends the rule that requests it. Nothing is judged here.
"""

from collections.abc import Mapping

from dbdyno.explain.needs import needed
from dbdyno.model.telemetry import ServerFacts

_SIZES = {"B": 1.0, "kB": 2.0**10, "8kB": 2.0**13, "MB": 2.0**20, "GB": 2.0**30, "TB": 2.0**40}
_SPANS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86_400.0}


def size_bytes(facts: ServerFacts, name: str) -> float:
    """A setting that is a size, in bytes."""
    return plain(facts, name) * _unit(facts, name, _SIZES)


def span_s(facts: ServerFacts, name: str) -> float:
    """A setting that is a duration, in seconds."""
    return plain(facts, name) * _unit(facts, name, _SPANS)


def plain(facts: ServerFacts, name: str) -> float:
    """A setting that is a number."""
    return float(needed(facts.settings.get(name), f"the setting {name} was not recorded"))


def is_off(facts: ServerFacts, name: str) -> bool:
    """Whether it is known to be off."""
    return facts.settings.get(name, "").lower() == "off"


def is_on(facts: ServerFacts, name: str) -> bool:
    """Whether it is known to be on."""
    return facts.settings.get(name, "").lower() == "on"


def _unit(facts: ServerFacts, name: str, units: Mapping[str, float]) -> float:
    written = facts.details.get("units", {}).get(name)
    return needed(units.get(written), f"the unit of the setting {name} is not known")
