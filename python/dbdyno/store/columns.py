"""A table that is filled row by row."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from dbdyno.model.tables import Column, Columns, ColumnType, Table

_ROWS_A_BLOCK = 8192


class TableBuilder:
    """Takes rows one at a time; returns columns.

    Rows are packed in blocks as they arrive, because a run of eight hours as Python objects would
    fill the memory of a small host.
    """

    def __init__(self, table: type[Table]) -> None:
        self._attributes = tuple(table.declared)
        self._schema = table.schema
        self._rows: list[tuple[Any, ...]] = []
        self._blocks: list[list[Column]] = []

    def add(self, **values: object) -> None:
        """Add one row: a value for each column of the table, by the attribute's name."""
        self._rows.append(tuple(values[name] for name in self._attributes))
        if len(values) > len(self._attributes):
            raise TypeError(f"no columns: {values.keys() - {*self._attributes}}")
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
