"""Combines several queries into one: a busy server takes its time for each.

What the parts see is of nearly the same instant, in the order in which they are asked.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from msgspec import Struct

from dbdyno.targets.connection import Connection

Rows: TypeAlias = Mapping[str, list[Sequence[Any]]]
"""The rows of each part, by its name; none of one that was not asked."""


class Part(Struct, frozen=True):
    """One question: expressions for its columns, and where they come from."""

    columns: tuple[str, ...]
    of: str


def asked(connection: Connection, parts: Mapping[str, Part]) -> Rows:
    """The answers to all of them; numbers may come back as text."""
    found: dict[str, list[Sequence[Any]]] = defaultdict(list)
    if parts:
        width = max(len(part.columns) for part in parts.values())
        query = " union all ".join(_select(name, part, width) for name, part in parts.items())
        for name, *row in connection.execute(query).fetchall():
            found[name].append(row[: len(parts[name].columns)])
    return found


def _select(name: str, part: Part, width: int) -> str:
    columns = (f"'{name}'", *part.columns, *["null"] * (width - len(part.columns)))
    return f"select {', '.join(columns)} {part.of}"
