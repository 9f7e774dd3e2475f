"""Descriptions (of a host, a server, a plan) as names and values that people can read.

Generic on purpose: whoever describes a host may add a field, and it is shown.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from dbdyno.report.words import NOTHING, count, seconds, size

_WORDS = {"cpu": "CPU", "io": "I/O", "tls": "TLS", "numa": "NUMA", "mhz": "MHz", "unix": "Unix"}


def readable_pairs(described: Mapping[str, Any]) -> list[tuple[str, str]]:
    """All values, those of nested objects with their path before them."""
    return list(_pairs(described, ()))


def _pairs(described: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for name, value in described.items():
        if isinstance(value, Mapping):
            yield from _pairs(value, (*path, name))
        elif value is not None:
            yield _title((*path, name)), _written(name, value)


def _title(path: tuple[str, ...]) -> str:
    words = " ".join(path).replace("_", " ")
    for unit in (" bytes", " ns"):
        words = words.removesuffix(unit)
    words = words.replace("io uring", "io_uring")
    written = " ".join(_WORDS.get(word, word) for word in words.split())
    return written[:1].upper() + written[1:]


def _written(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return _number(name, value)
    if isinstance(value, list | tuple):
        return ", ".join(str(one) for one in value) or NOTHING
    return str(value) or NOTHING


def _number(name: str, value: float) -> str:
    """In the unit that the name ends in; a number that counts nothing, as it came."""
    if name.endswith("_bytes"):
        return size(value)
    if name.endswith("_ns"):
        return seconds(value / 1e9)
    if isinstance(value, int) and name.endswith(("_total", "_max", "clients")):
        return count(value)
    return f"{value:g}" if isinstance(value, float) else str(value)
