"""The coarse histogram buckets of every interval, the largest part of a long run.

They stay packed, as the engine sent them, until the columns are requested.
"""

import numpy as np

from dbdyno.model.tables import Buckets, Columns

_PACKED = np.dtype([("bucket", "<u2"), ("count", "<u4")])


class BucketsBuilder:
    """Like :class:`~dbdyno.store.columns.TableBuilder`, for one packed distribution at a time."""

    def __init__(self, table: type[Buckets]) -> None:
        self._schema = table.schema
        self._keys: list[tuple[int, int, int]] = []
        self._packed = bytearray()

    def add(self, interval: int, number: int, packed: bytes) -> None:
        """Add all buckets of one distribution; ``number`` is that of its script or statement."""
        self._keys.append((interval, number, len(packed) // _PACKED.itemsize))
        self._packed += packed

    def columns(self) -> Columns:
        """Return the columns, with one row per bucket."""
        buckets = np.frombuffer(bytes(self._packed), dtype=_PACKED)
        intervals, numbers, lengths = np.array(self._keys, dtype=np.int64).reshape(-1, 3).T
        columns = (
            np.repeat(intervals, lengths),
            np.repeat(numbers, lengths),
            buckets["bucket"],
            buckets["count"],
        )
        typed = zip(self._schema.items(), columns, strict=True)
        return {name: column.astype(kind.numpy) for (name, kind), column in typed}
