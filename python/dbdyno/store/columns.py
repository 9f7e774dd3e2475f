"""Tables that are filled row by row, and histogram buckets that are filled packed."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from dbdyno.model.tables import Buckets, Column, Columns, ColumnType, Table

_ROWS_A_BLOCK = 8192
_BLOCKS_MAX = 64
"""A live page has one more each second, and joins those of the tables that it needs."""
_PACKED_BUCKET = np.dtype([("bucket", "<u2"), ("count", "<u4")])


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
        """Add one row: a value for each column of the table, by the attribute's name.

        Of a count, None is what is not known.
        """
        self._rows.append(tuple(values[name] for name in self._attributes))
        if len(values) > len(self._attributes):
            raise TypeError(f"no columns: {values.keys() - {*self._attributes}}")
        if len(self._rows) == _ROWS_A_BLOCK:
            self._pack()

    def _pack(self) -> None:
        columns = zip(*self._rows, strict=True) if self._rows else [()] * len(self._schema)
        types = self._schema.values()
        self._blocks.append(
            [_packed(values, kind) for values, kind in zip(columns, types, strict=True)]
        )
        self._rows = []

    def columns(self) -> Columns:
        """Return the columns of all rows so far."""
        return self.so_far()()

    def so_far(self) -> Callable[[], Columns]:
        """Return what makes the columns of all rows that were added until now."""
        if self._rows or not self._blocks:
            self._pack()
        if len(self._blocks) > _BLOCKS_MAX:
            self._blocks = [_joined(self._blocks)]
        return partial(self._columns, tuple(self._blocks))

    def _columns(self, blocks: Sequence[list[Column]]) -> Columns:
        return dict(zip(self._schema, _joined(blocks), strict=True))


class BucketsBuilder:
    """Takes the coarse buckets of one distribution at a time; returns columns.

    They are the largest part of a long run, and stay packed, as the engine sent them, until the
    columns are requested.
    """

    def __init__(self, table: type[Buckets]) -> None:
        self._schema = table.schema
        self._keys: list[tuple[int, int, int]] = []
        self._packed = bytearray()

    def add(self, interval: int, number: int, packed: bytes) -> None:
        """Add all buckets of one distribution; ``number`` is that of its script or statement."""
        self._keys.append((interval, number, len(packed) // _PACKED_BUCKET.itemsize))
        self._packed += packed

    def so_far(self) -> Callable[[], Columns]:
        """Return what makes the columns of all that was taken until now, one row per bucket."""
        return partial(self._columns, len(self._keys), len(self._packed))

    def _columns(self, keys: int, length: int) -> Columns:
        buckets = np.frombuffer(bytes(self._packed[:length]), dtype=_PACKED_BUCKET)
        intervals, numbers, lengths = np.array(self._keys[:keys], dtype=np.int64).reshape(-1, 3).T
        columns = (
            np.repeat(intervals, lengths),
            np.repeat(numbers, lengths),
            buckets["bucket"],
            buckets["count"],
        )
        typed = zip(self._schema.items(), columns, strict=True)
        return {name: column.astype(kind.numpy) for (name, kind), column in typed}


class LazyTables(Mapping[str, Columns]):
    """Tables by name, each made when it is first asked for.

    A live page asks each second and needs few of them; those of an hour take a while.
    """

    def __init__(self, makers: Mapping[str, Callable[[], Columns]]) -> None:
        self._makers = makers
        self._made: dict[str, Columns] = {}

    def __getitem__(self, name: str) -> Columns:
        """Return a table."""
        if name not in self._made:
            self._made[name] = self._makers[name]()
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        """Yield the names."""
        return iter(self._makers)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._makers)


def _packed(values: Sequence[Any], kind: ColumnType) -> Column:
    if kind.numpy == "O":
        return object_array(values)
    if None not in values:
        return np.array(values, dtype=kind.numpy)
    known = [value or 0 for value in values]
    is_unknown = [value is None for value in values]
    return np.ma.masked_array(known, is_unknown, dtype=kind.numpy)


def _joined(blocks: Sequence[list[Column]]) -> list[Column]:
    if len(blocks) == 1:
        return blocks[0]
    return [_concatenated(parts) for parts in zip(*blocks, strict=True)]


def _concatenated(parts: Sequence[Column]) -> Column:
    joined = np.concatenate(parts)
    if not any(map(np.ma.isMaskedArray, parts)):
        return joined
    return np.ma.masked_array(joined, np.concatenate([np.ma.getmaskarray(part) for part in parts]))


def object_array(values: Sequence[object]) -> Column:
    """Return an array with one element per value, even if all values are lists of equal length."""
    array = np.empty(len(values), dtype=object)
    for index, value in enumerate(values):
        array[index] = value
    return array
