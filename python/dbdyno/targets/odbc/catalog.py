"""Finds existing tables with three queries of a database's own."""

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from dbdyno.targets.connection import Connection
from dbdyno.targets.schema import FoundColumn, FoundTable
from dbdyno.targets.standard import literal


class Catalog(Struct, frozen=True):
    """Queries with ``{names}`` for the requested tables; they return names in lower case.

    ``tables`` returns name and comment, ``columns`` name, column and type in order, ``keys`` name
    and column of primary keys. ``types`` maps the database's types to those of ``targets.schema``.
    """

    tables: str
    columns: str
    keys: str
    types: Mapping[str, str]

    def finder(self) -> Callable[[Connection, Sequence[str]], dict[str, FoundTable]]:
        """Return a function that finds the tables that exist among the names."""
        return self._find

    def _find(self, connection: Connection, names: Sequence[str]) -> dict[str, FoundTable]:
        among = ", ".join(literal(name) for name in names)

        def fetch(query: str) -> list[list[str]]:
            rows = connection.execute(query.replace("{names}", among)).fetchall()
            return [[value or "" for value in row] for row in rows]

        columns, keys = fetch(self.columns), fetch(self.keys)
        return {
            name: FoundTable(
                name=name,
                is_table=True,
                columns=tuple(
                    FoundColumn(column, self._word(written))
                    for table, column, written in columns
                    if table == name
                ),
                primary_key=tuple(column for table, column in keys if table == name),
                foreign_keys=frozenset(),
                fillfactor=None,
                unlogged=False,
                partitioning=None,
                comment=comment,
            )
            for name, comment in fetch(self.tables)
        }

    def _word(self, written: str) -> str:
        return self.types.get(written, written.replace("character(", "char("))
