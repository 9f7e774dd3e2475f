"""Finds existing tables in the information schema, in the terms of ``databases.schema``."""

from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from dbdyno.databases.connection import Connection
from dbdyno.databases.mysql.column_types import word_of
from dbdyno.databases.schema import (
    ForeignKey,
    FoundColumn,
    FoundTable,
    Partitioning,
    PartitionMethod,
)

_NO_KEY = ForeignKey((), "", ())
METHODS: dict[str, PartitionMethod] = {"RANGE": "range", "HASH": "hash"}

TABLES = """
    select table_name, table_type, table_comment from information_schema.tables
    where table_schema = database() and table_name in %s"""
COLUMNS = """
    select table_name, column_name, column_type from information_schema.columns
    where table_schema = database() and table_name in %s order by ordinal_position"""
KEYS = """
    select table_name, constraint_name, column_name, referenced_table_name, referenced_column_name
    from information_schema.key_column_usage
    where table_schema = database() and table_name in %s
    order by constraint_name, ordinal_position"""
INDEXES = """
    select table_name, index_name, column_name from information_schema.statistics
    where table_schema = database() and table_name in %s and non_unique = 1
    order by index_name, seq_in_index"""
PARTITIONS = """
    select table_name, max(partition_method), max(partition_expression), count(*)
    from information_schema.partitions
    where table_schema = database() and table_name in %s and partition_name is not null
    group by table_name"""


def find_tables(connection: Connection, names: Sequence[str]) -> dict[str, FoundTable]:
    """Return those of the named tables that exist in the current database."""
    columns = _by_table(connection, COLUMNS, names)
    keys = _by_table(connection, KEYS, names)
    indexes = _by_table(connection, INDEXES, names)
    partitions = _by_table(connection, PARTITIONS, names)
    found = {}
    for name, ((kind, comment),) in _by_table(connection, TABLES, names).items():
        own_keys = _keys(keys.get(name, ()))
        found[name] = FoundTable(
            name=name,
            is_table=kind == "BASE TABLE",
            columns=tuple(FoundColumn(*_column(row)) for row in columns.get(name, ())),
            primary_key=own_keys.pop("PRIMARY", _NO_KEY).columns,
            unique_keys=frozenset(key.columns for key in own_keys.values() if not key.references),
            foreign_keys=frozenset(key for key in own_keys.values() if key.references),
            indexes=frozenset(
                tuple(column for _, column in group)
                for _, group in groupby(indexes.get(name, ()), key=itemgetter(0))
            ),
            fillfactor=None,
            unlogged=False,
            partitioning=_partitioning(partitions.get(name, ())),
            comment=comment,
        )
    return found


def _keys(rows: Sequence[tuple[Any, ...]]) -> dict[str, ForeignKey]:
    """Return the keys by constraint; one that refers to nothing is a key of the table itself."""
    keys = {}
    for constraint, group in groupby(rows, key=itemgetter(0)):
        _, columns, references, referenced = zip(*group, strict=True)
        keys[constraint] = ForeignKey(columns, references[0] or "", referenced)
    return keys


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
    for method, expression, count in rows:
        if method in METHODS:
            return Partitioning(METHODS[method], expression.strip("`"), count)
    return None
