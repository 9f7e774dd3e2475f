"""Combines several queries into one statement: a busy server takes its time for each.

The parts see nearly the same instant, in the order in which they are listed.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from msgspec import Struct

from dbdyno.databases.connection import Connection

Rows: TypeAlias = Mapping[str, list[Sequence[Any]]]
"""The rows of each part by its name; empty for one that was not queried."""


class Part(Struct, frozen=True):
    """One query: expressions for its columns, and its FROM clause."""

    columns: tuple[str, ...]
    of: str


def query_parts(connection: Connection, parts: Mapping[str, Part]) -> Rows:
    """Return the rows of all parts; numbers may be returned as text."""
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
