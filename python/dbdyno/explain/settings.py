"""The server's settings as numbers: whatever unit they were written in.

Only values with their units are understood (``128MB``, ``5min``), as a server shows them; a
bare number is taken in the unit that the caller names. Nothing is judged here.
"""

import re

from dbdyno.explain.needs import needed
from dbdyno.model.telemetry import ServerFacts

_SIZES = {"B": 1.0, "kB": 2.0**10, "8kB": 2.0**13, "MB": 2.0**20, "GB": 2.0**30, "TB": 2.0**40}
_SPANS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86_400.0}
_WRITTEN = re.compile(r"(-?[\d.]+)\s*([A-Za-z]*)")


def size_bytes(facts: ServerFacts, name: str, unit: str) -> float:
    """A setting that is a size."""
    return _number(facts, name, _SIZES, unit)


def span_s(facts: ServerFacts, name: str, unit: str) -> float:
    """A setting that is a length of time."""
    return _number(facts, name, _SPANS, unit)


def plain(facts: ServerFacts, name: str) -> float:
    """A setting that is a number."""
    return _number(facts, name, {}, "")


def is_off(facts: ServerFacts, name: str) -> bool:
    """Whether it is known to be off."""
    return facts.settings.get(name) == "off"


def is_on(facts: ServerFacts, name: str) -> bool:
    """Whether it is known to be on."""
    return facts.settings.get(name) == "on"


def _number(facts: ServerFacts, name: str, units: dict[str, float], bare: str) -> float:
    written = needed(facts.settings.get(name), f"the setting {name} was not recorded")
    match = _WRITTEN.fullmatch(written.strip())
    number, unit = needed(match, f"the setting {name} is {written!r}").groups()
    return float(number) * units.get(unit or bare, 1.0)
