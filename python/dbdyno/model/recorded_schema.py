"""The schema of a database as a run records it: definitions as text, to be compared with another's.

It is bounded, whatever the database has: in the number of tables and routines, and in the length of
a definition. A long one is cut and keeps a digest of the whole, so that every change of it shows.
"""

import hashlib
from collections.abc import Iterable

from msgspec import Struct

TABLES_MAX = 1000
ROUTINES_MAX = 1000
_DEFINITION_MAX = 300


class RecordedTable(Struct, frozen=True, kw_only=True):
    """A table or view. ``definition`` is what it is and how it is stored.

    ``parts`` are definitions by kind and name: ``index orders_date``, ``column id``.
    """

    definition: str
    parts: dict[str, str] = {}


class RecordedSchema(Struct, frozen=True, kw_only=True):
    """The tables, by the names in all records, and the functions and procedures with their types.

    Of a routine there is a digest alone: its text is a program, with secrets perhaps.
    ``left_out`` is the number of tables and routines beyond the bounds; those that the scripts name
    come first and partitions last.
    """

    tables: dict[str, RecordedTable] = {}
    routines: dict[str, str] = {}
    left_out: int = 0


def recorded_schema(
    tables: Iterable[tuple[str, str]],
    parts: Iterable[tuple[str, str, str]],
    routines: Iterable[tuple[str, str]],
    left_out: int,
) -> RecordedSchema:
    """Return the schema from rows (table, definition), (table, part, definition), (routine, …)."""
    by_table: dict[str, dict[str, str]] = {}
    for table, part, definition in parts:
        by_table.setdefault(table, {})[part] = _bounded(definition)
    return RecordedSchema(
        tables={
            name: RecordedTable(definition=_bounded(definition), parts=by_table.get(name, {}))
            for name, definition in tables
        },
        routines={name: _digest(definition) for name, definition in routines},
        left_out=left_out,
    )


def _bounded(definition: str) -> str:
    """On one line; a long one cut, with a digest of the whole."""
    text = " ".join(definition.split())
    if len(text) <= _DEFINITION_MAX:
        return text
    return f"{text[:_DEFINITION_MAX]}… ({_digest(definition)})"


def _digest(definition: str) -> str:
    return f"SHA-256 {hashlib.sha256(definition.encode(errors='replace')).hexdigest()[:16]}"
