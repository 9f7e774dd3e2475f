"""Descriptions (of a host, a server, a plan) as readable names and values.

Generic on purpose: a field that is added to a description is shown.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from dbdyno.formatting import NOTHING, count, seconds, size

_UNITS = ("bytes", "ns")
_SIZES = {"kB": 1 << 10, "8kB": 1 << 13, "MB": 1 << 20}
_WORDS = {"cpu": "CPU", "io": "I/O", "tls": "TLS", "numa": "NUMA", "mhz": "MHz", "unix": "Unix"}


def readable_pairs(described: Mapping[str, Any]) -> list[tuple[str, str]]:
    """All values, those of nested objects with their path in front."""
    return list(_pairs(described, ()))


def setting_text(value: str, unit: str) -> str:
    """A setting as its server keeps it, and a size in readable form: 771328 × 8kB, 5.88 GiB.

    A unit may be a number of bytes.
    """
    kept = f"{value} {'× ' if unit[:1].isdigit() else ''}{unit}".rstrip()
    if unit in _SIZES and value.isdecimal() and value != "0":
        return f"{kept}, {size(int(value) * _SIZES[unit])}"
    return kept


def _pairs(described: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for name, value in described.items():
        if isinstance(value, Mapping):
            yield from _pairs(value, (*path, name))
        elif value is not None and value != []:
            yield _title((*path, name)), _written((*path, name), value)


def _title(path: tuple[str, ...]) -> str:
    text = " ".join(_without_unit(name).replace("_", " ") for name in path)
    text = text.replace("io uring", "io_uring")
    written = " ".join(_WORDS.get(part, part) for part in text.split())
    return written[:1].upper() + written[1:]


def _without_unit(name: str) -> str:
    head, _, unit = name.rpartition("_")
    return head if unit in _UNITS else name


def _written(path: tuple[str, ...], value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return _number(path, value)
    if isinstance(value, list | tuple):
        return ", ".join(str(one) for one in value)
    return str(value) or NOTHING


def _number(path: tuple[str, ...], value: float) -> str:
    """Format by the unit suffix of its name or of its parent; other numbers are unchanged."""
    units = {name.rpartition("_")[2] for name in path}
    if "bytes" in units:
        return size(value)
    if "ns" in units:
        return seconds(value / 1e9)
    if isinstance(value, int) and path[-1].endswith(("_total", "_max", "clients")):
        return count(value)
    return f"{value:g}" if isinstance(value, float) else str(value)
