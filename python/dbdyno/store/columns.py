"""Column types, and a table that is filled row by row.

A type determines both the numpy array in memory and the column of the Parquet file. A value that
was not measured is NaN in numpy and NULL in the file; only floating-point columns can express it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dbdyno.model.recording import Column, Columns

_ROWS_A_BLOCK = 8192


@dataclass(frozen=True)
class ColumnType:
    """A column type in numpy and in SQL."""

    numpy: str
    sql: str


I32 = ColumnType("i4", "INTEGER")
U16 = ColumnType("u2", "USMALLINT")
U32 = ColumnType("u4", "UINTEGER")
U64 = ColumnType("u8", "UBIGINT")
F32 = ColumnType("f4", "FLOAT")
F64 = ColumnType("f8", "DOUBLE")
TEXT = ColumnType("O", "VARCHAR")
BOOL = ColumnType("?", "BOOLEAN")
BLOB = ColumnType("O", "BLOB")
STEPS = ColumnType("O", "STRUCT(statement UINTEGER, ms FLOAT)[]")

Schema = Mapping[str, ColumnType]


class TableBuilder:
    """Takes rows one at a time; returns columns.

    Rows are packed in blocks as they arrive, because a run of eight hours as Python objects would
    fill the memory of a small host.
    """

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._rows: list[tuple[Any, ...]] = []
        self._blocks: list[list[Column]] = []

    def add(self, *values: object) -> None:
        """Add one row, in the order of the schema."""
        self._rows.append(values)
        if len(self._rows) == _ROWS_A_BLOCK:
            self._pack()

    def _pack(self) -> None:
        columns = zip(*self._rows, strict=True) if self._rows else [()] * len(self._schema)
        types = self._schema.values()
        self._blocks.append(
            [_array(values, kind) for values, kind in zip(columns, types, strict=True)]
        )
        self._rows = []

    def columns(self) -> Columns:
        """Return the columns of all rows so far."""
        self._pack()
        joined = [np.concatenate(parts) for parts in zip(*self._blocks, strict=True)]
        self._blocks = [joined]
        return dict(zip(self._schema, joined, strict=True))


def _array(values: tuple[Any, ...], kind: ColumnType) -> Column:
    if kind.numpy != "O":
        return np.array(values, dtype=kind.numpy)
    return object_array(values)


def object_array(values: Sequence[object]) -> Column:
    """Return an array with one element per value, even if all values are lists of equal length."""
    array = np.empty(len(values), dtype=object)
    for index, value in enumerate(values):
        array[index] = value
    return array
