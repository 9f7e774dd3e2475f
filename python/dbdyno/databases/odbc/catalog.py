"""Finds existing tables with three queries of a database's own."""

from collections.abc import Callable, Sequence

from msgspec import Struct

from dbdyno.databases.connection import Connection
from dbdyno.databases.schema import FoundColumn, FoundTable
from dbdyno.databases.standard import literal


class Catalog(Struct, frozen=True):
    """Queries with ``{names}`` for the requested tables; they return names in lower case.

    ``tables`` returns name and comment, ``columns`` name, column and type in order, ``keys`` name,
    key and column in order, where the primary key has no name. ``word_of`` returns a type's name in
    ``schema``.
    """

    tables: str
    columns: str
    keys: str
    word_of: Callable[[str], str]

    def finder(self) -> Callable[[Connection, Sequence[str]], dict[str, FoundTable]]:
        """Return a function that finds the tables that exist among the names."""
        return self._find

    def _find(self, connection: Connection, names: Sequence[str]) -> dict[str, FoundTable]:
        among = ", ".join(literal(name) for name in names)

        def fetch(query: str) -> list[list[str]]:
            rows = connection.execute(query.replace("{names}", among)).fetchall()
            return [[value or "" for value in row] for row in rows]

        columns, keys = fetch(self.columns), _keys(fetch(self.keys))
        return {
            name: FoundTable(
                name=name,
                is_table=True,
                columns=tuple(
                    FoundColumn(column, self.word_of(written))
                    for table, column, written in columns
                    if table == name
                ),
                primary_key=keys.get((name, ""), ()),
                unique_keys=frozenset(
                    columns for (table, key), columns in keys.items() if table == name and key
                ),
                foreign_keys=frozenset(),
                fillfactor=None,
                unlogged=False,
                partitioning=None,
                comment=comment,
            )
            for name, comment in fetch(self.tables)
        }


def _keys(rows: Sequence[Sequence[str]]) -> dict[tuple[str, str], tuple[str, ...]]:
    """Return the columns of each key, by table and name."""
    keys: dict[tuple[str, str], tuple[str, ...]] = {}
    for table, key, column in rows:
        keys[table, key] = (*keys.get((table, key), ()), column)
    return keys
