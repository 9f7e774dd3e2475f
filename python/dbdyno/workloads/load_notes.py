"""Which rows a load has loaded so far, so that one that was interrupted can be continued.

The transaction that loads a piece of a table also notes it, first of all, in a table that exists as
long as the load: the note is there exactly if the rows are. Two loads at once would note the same
piece, which the key of the notes does not allow.
"""

import hashlib
from collections import defaultdict
from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from dbdyno.databases.connection import Connection
from dbdyno.databases.schema import Column, Table
from dbdyno.model.generators import Number
from dbdyno.workloads.status import Mark

Numbers = list[tuple[int, int]]
"""Ranges of a table's numbers, each from one to before another, in order."""


def notes_of(mark: Mark) -> Table:
    """Return the table of the notes on the loading of this data."""
    return Table(
        name=f"dbdyno_loading_{mark.data.replace('-', '_')}",  # unquoted, as all names are
        columns=(
            Column("loaded_table", "varchar(63)", not_null=True),
            Column("first_number", "bigint", not_null=True),
            Column("end_number", "bigint", not_null=True),
        ),
        rows=0,
        primary_key=("loaded_table", "first_number"),
    )


def note(notes: Table, table: Table) -> str:
    """Return the statement with which the engine notes a piece of the table."""
    return f"insert into {notes.name} values ('{table.name}', {{first}}, {{end}})"


def read_notes(connection: Connection, notes: Table) -> dict[str, Numbers]:
    """Return what is loaded, by table."""
    query = f"select loaded_table, first_number, end_number from {notes.name} order by 1, 2"
    loaded: dict[str, Numbers] = defaultdict(list)
    for table, first, end in connection.execute(query).fetchall():
        loaded[str(table)].append((int(first), int(end)))
    return loaded


def fingerprint(tables: Sequence[Table], seed: int) -> str:
    """Return a word for all that decides which rows are loaded, and how they are stored.

    Rows have the time of their load, which is another one when it is continued.
    """
    timeless = [
        replace(table, columns=tuple(map(_without_time, table.columns))) for table in tables
    ]
    described = msgspec.json.encode((timeless, seed))
    return hashlib.sha256(described).hexdigest()[:16]


def _without_time(column: Column) -> Column:
    return replace(column, generator=Number(0)) if column.default == "now()" else column
