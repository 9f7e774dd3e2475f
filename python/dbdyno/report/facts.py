"""Descriptions (of a host, a server, a plan) as readable names and values.

Generic on purpose: a field that is added to a description is shown.
"""

import re
from collections.abc import Mapping
from typing import Any

from dbdyno.formatting import NOTHING, count, seconds, size

_UNIT = re.compile(r"(?:^|_)(?:bytes|ns)$")
_SIZES = {"kB": 1 << 10, "8kB": 1 << 13, "MB": 1 << 20}
_WORDS = {"cpu": "CPU", "io": "I/O", "tls": "TLS", "numa": "NUMA", "mhz": "MHz", "unix": "Unix"}


def readable_pairs(
    described: Mapping[str, Any], path: tuple[str, ...] = ()
) -> list[tuple[str, str]]:
    """All values, those of nested objects with their path in front."""
    pairs: list[tuple[str, str]] = []
    for name, value in described.items():
        if isinstance(value, Mapping):
            pairs += readable_pairs(value, (*path, name))
        elif value is not None and value != []:
            pairs.append((_title((*path, name)), _value((*path, name), value)))
    return pairs


def setting_text(value: str, unit: str) -> str:
    """A setting as its server keeps it, and a size in readable form: 771328 × 8kB, 5.88 GiB.

    A unit may be a number of bytes.
    """
    kept = f"{value} {'× ' if unit[:1].isdigit() else ''}{unit}".rstrip()
    if unit in _SIZES and value.isdecimal() and value != "0":
        return f"{kept}, {size(int(value) * _SIZES[unit])}"
    return kept


def _title(path: tuple[str, ...]) -> str:
    """The path in words, without the units at the ends of its names."""
    text = " ".join(_UNIT.sub("", name) for name in path)
    text = text.replace("_", " ").replace("io uring", "io_uring")
    written = " ".join(_WORDS.get(part, part) for part in text.split())
    return written[:1].upper() + written[1:]


def _value(path: tuple[str, ...], value: Any) -> str:
    """A number by the unit at the end of its name or of its parent's; others are unchanged."""
    units = {name.rpartition("_")[2] for name in path}
    match value:
        case bool():
            return "yes" if value else "no"
        case int() | float() if "bytes" in units:
            return size(value)
        case int() | float() if "ns" in units:
            return seconds(value / 1e9)
        case int() if path[-1].endswith(("_total", "_max", "clients")):
            return count(value)
        case float():
            return f"{value:g}"
        case _:
            several = isinstance(value, list | tuple)
            return ", ".join(map(str, value)) if several else str(value) or NOTHING
