"""Estimates the size of tables before they exist, for plans, to within a fifth.

It assumes PostgreSQL's storage; InnoDB stores rows in the primary key's own pages, which are less
full and have no separate heap, and needs about the same.
"""

import re
from collections.abc import Iterable

from dbdyno.targets.schema import Column, Table

PAGE_BYTES = 8192
PAGE_HEADER_BYTES = 24
ROW_HEADER_BYTES = 28  # including the line pointer
ALIGNMENT_BYTES = 8
INDEX_ENTRY_BYTES = 20
INDEX_FILL = 0.9
UNKNOWN_TEXT_BYTES = 32

_FIXED_BYTES = {"int": 4, "serial": 4, "bigint": 8, "timestamp": 8, "timestamptz": 8, "bool": 1}
_LENGTH = re.compile(r"char\((\d+)\)")


def estimated_bytes(tables: Iterable[Table]) -> int:
    """Return the bytes of heap and indexes of all tables as loaded."""
    return sum(_heap_bytes(table) + _index_bytes(table) for table in tables)


def _heap_bytes(table: Table) -> int:
    width = ROW_HEADER_BYTES + _aligned(sum(_width(column) for column in table.columns))
    room = (PAGE_BYTES - PAGE_HEADER_BYTES) * (table.fillfactor or 100) / 100
    rows_a_page = max(1, int(room // width))
    return -(-table.rows // rows_a_page) * PAGE_BYTES


def _index_bytes(table: Table) -> int:
    indexes = len(table.indexes) + (table.primary_key is not None)
    return round(indexes * table.rows * INDEX_ENTRY_BYTES / INDEX_FILL)


def _width(column: Column) -> int:
    """Return the bytes of a column's value; one that is loaded as NULL takes none."""
    if column.sql_type in _FIXED_BYTES:
        return _FIXED_BYTES[column.sql_type]
    if match := _LENGTH.search(column.sql_type):
        return 1 + int(match[1]) if column.generator != "null" or column.default else 0
    return 1 + _text_bytes(column)


def _text_bytes(column: Column) -> int:
    match column.generator:
        case {"template": {"pattern": str(text)}} | {"constant": {"text": str(text)}}:
            return len(text)
        case _:
            return UNKNOWN_TEXT_BYTES


def _aligned(width: int) -> int:
    return -(-width // ALIGNMENT_BYTES) * ALIGNMENT_BYTES
