"""Estimates the size of tables before they exist, for plans, to within a fifth.

It assumes PostgreSQL's storage; InnoDB stores rows in the primary key's own pages, which are less
full and have no separate heap, and needs about the same, except for single values of more than a
page.
"""

import re
from collections.abc import Iterable

from dbdyno.databases.schema import Column, Table
from dbdyno.model.generators import Null, mean_length, mean_number

PAGE_BYTES = 8192
PAGE_HEADER_BYTES = 24
ROW_HEADER_BYTES = 28  # including the line pointer
ALIGNMENT_BYTES = 8
INDEX_ENTRY_BYTES = 12  # without the key
INDEX_FILL = 0.9

# Of a row that is larger, the longest values are stored apart, in chunks of which four fill a page.
LONG_ROW_BYTES = 2032
CHUNK_VALUE_BYTES = 1996
CHUNK_BYTES = PAGE_BYTES // 4
CHUNK_KEY_BYTES = 8
POINTER_BYTES = 18

_FIXED_BYTES = {
    "int": 4,
    "serial": 4,
    "bigint": 8,
    "bigserial": 8,
    "timestamp": 8,
    "timestamptz": 8,
    "date": 4,
    "boolean": 1,
}
_CHAR = re.compile(r"char\((\d+)\)")
_DECIMAL = re.compile(r"decimal\(\d+,(\d+)\)")
_SHORT_BYTES = 126  # the header of a longer value has four bytes instead of one


def estimated_bytes(tables: Iterable[Table]) -> int:
    """Return the bytes of heap and indexes of all tables as loaded."""
    return sum(_heap_bytes(table) + _index_bytes(table) for table in tables)


def _heap_bytes(table: Table) -> int:
    within, apart = _stored(table)
    width = ROW_HEADER_BYTES + _aligned(sum(within))
    room = (PAGE_BYTES - PAGE_HEADER_BYTES) * (table.fillfactor or 100) / 100
    rows_a_page = max(1, int(room // width))
    heap = -(-table.rows_expected // rows_a_page) * PAGE_BYTES
    chunks = [width / CHUNK_VALUE_BYTES for width in apart]
    entries = sum(max(1.0, each) for each in chunks) / INDEX_FILL  # of the index of the chunks
    a_row = sum(chunks) * CHUNK_BYTES + entries * (INDEX_ENTRY_BYTES + CHUNK_KEY_BYTES)
    return heap + round(table.rows_expected * a_row)


def _stored(table: Table) -> tuple[list[float], list[float]]:
    """Return the widths of a row's values that stay in it, and of those stored apart."""
    within = sorted(_width(column) for column in table.columns)
    apart: list[float] = []
    while ROW_HEADER_BYTES + sum(within) + POINTER_BYTES * len(apart) > LONG_ROW_BYTES and within:
        apart.append(within.pop())
    return [*within, *(POINTER_BYTES for _ in apart)], apart


def _index_bytes(table: Table) -> int:
    widths = {column.name: _width(column) for column in table.columns}
    keys = [index.columns for index in table.indexes]
    if table.primary_key:
        keys.append(table.primary_key)
    entries = sum(INDEX_ENTRY_BYTES + _aligned(sum(widths[name] for name in key)) for key in keys)
    return round(table.rows_expected * entries / INDEX_FILL)


def _width(column: Column) -> float:
    """Return the bytes of a column's value; one that is loaded as NULL takes none."""
    if column.sql_type in _FIXED_BYTES:
        return _FIXED_BYTES[column.sql_type]
    if match := _DECIMAL.fullmatch(column.sql_type):
        # A header, and groups of four digits, before and after the point.
        scale = int(match[1])
        whole = len(str(round(abs(mean_number(column.generator)) / 10**scale)))
        return 3 + 2 * (-(-whole // 4) + -(-scale // 4))
    if match := _CHAR.fullmatch(column.sql_type):
        is_null = isinstance(column.generator, Null) and not column.default
        return 0 if is_null else _with_header(int(match[1]))
    length = mean_length(column.generator)
    return _with_header(length) if length else 0


def _with_header(length: float) -> float:
    return length + (1 if length <= _SHORT_BYTES else 4)


def _aligned(width: float) -> int:
    return -(-round(width) // ALIGNMENT_BYTES) * ALIGNMENT_BYTES
