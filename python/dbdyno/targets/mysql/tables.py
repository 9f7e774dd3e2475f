"""Finds existing tables in the information schema, in the terms of ``targets.schema``."""

from collections.abc import Sequence
from typing import Any

from dbdyno.targets.connection import Connection
from dbdyno.targets.mysql.column_types import word_of
from dbdyno.targets.schema import ForeignKey, FoundColumn, FoundTable, Partitioning, PartitionMethod

METHODS: dict[str, PartitionMethod] = {"RANGE": "range", "HASH": "hash"}

TABLES = """
    select table_name, table_type, table_comment from information_schema.tables
    where table_schema = database() and table_name in %s"""
COLUMNS = """
    select table_name, column_name, column_type from information_schema.columns
    where table_schema = database() and table_name in %s order by ordinal_position"""
KEYS = """
    select table_name, constraint_name, column_name, referenced_table_name
    from information_schema.key_column_usage
    where table_schema = database() and table_name in %s order by ordinal_position"""
PARTITIONS = """
    select table_name, max(partition_method), count(*) from information_schema.partitions
    where table_schema = database() and table_name in %s and partition_name is not null
    group by table_name"""


def find_tables(connection: Connection, names: Sequence[str]) -> dict[str, FoundTable]:
    """Return those of the named tables that exist in the current database."""
    columns = _by_table(connection, COLUMNS, names)
    keys = _by_table(connection, KEYS, names)
    partitions = _by_table(connection, PARTITIONS, names)
    return {
        name: FoundTable(
            name=name,
            is_table=kind == "BASE TABLE",
            columns=tuple(FoundColumn(*_column(row)) for row in columns.get(name, ())),
            primary_key=tuple(row[1] for row in keys.get(name, ()) if row[0] == "PRIMARY"),
            foreign_keys=frozenset(ForeignKey(*row[1:]) for row in keys.get(name, ()) if row[2]),
            fillfactor=None,
            unlogged=False,
            partitioning=_partitioning(partitions.get(name, ())),
            comment=comment,
        )
        for name, ((kind, comment),) in _by_table(connection, TABLES, names).items()
    }


def _by_table(
    connection: Connection, query: str, names: Sequence[str]
) -> dict[str, list[tuple[Any, ...]]]:
    """Return the rows by the table's name, which is their first column, without it."""
    found: dict[str, list[tuple[Any, ...]]] = {}
    for name, *rest in connection.execute(query, [list(names)]).fetchall():
        found.setdefault(name, []).append(tuple(rest))
    return found


def _column(row: tuple[Any, ...]) -> tuple[str, str]:
    name, column_type = row
    return name, word_of(column_type)


def _partitioning(rows: Sequence[tuple[Any, ...]]) -> Partitioning | None:
    for method, count in rows:
        return Partitioning(METHODS[method], count) if method in METHODS else None
    return None
