"""A run as it was loaded from its folder: plain values and columns, no file behind them.

This is what ``analysis``, ``explain`` and ``report`` are given. Columns are numpy arrays
of one length per table; the tables and their columns are listed in ``store/tables.py``.
Histograms stay in the bytes the engine wrote; :class:`Histograms` is how to read them.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from dbdyno.model.record import RunRecord

Column: TypeAlias = NDArray[Any]
Columns: TypeAlias = dict[str, Column]


class Recording(Struct, frozen=True, kw_only=True, eq=False, weakref=True):
    """Everything one run folder holds. Equal to itself alone: arrays do not compare as one.

    So what was worked out of one can be kept for as long as it lives.
    """

    record: RunRecord
    plan: Mapping[str, Any]
    host: Mapping[str, Any]
    server: Mapping[str, Any]
    engine: Mapping[str, Any]
    """What the engine said of itself: ``hello``, ``connected``, ``started``, ``done``."""
    facts: Mapping[str, Any] = {}
    """``before`` and ``after`` the load: each a ``ServerFacts`` as plain values."""
    tables: Mapping[str, Columns]


class Histograms(Struct, frozen=True):
    """Arithmetic on histogram bytes, which the engine's module does."""

    quantiles: Callable[[bytes, list[float]], list[int]]
    """Nanoseconds at each quantile (0 to 1)."""
    merge: Callable[[list[bytes]], bytes]
    bars: Callable[[bytes], bytes]
    """Little-endian u64 triples (low, high, count) of the bars that are not empty."""

    def bar_columns(self, histogram: bytes) -> tuple[Column, Column, Column]:
        """Low and high ends in nanoseconds, and the count, of each bar that is not empty."""
        triples = np.frombuffer(self.bars(histogram), dtype="<u8").reshape(-1, 3)
        return triples[:, 0], triples[:, 1], triples[:, 2]


def rows(columns: Columns, names: Sequence[str]) -> list[tuple[Any, ...]]:
    """The named columns as rows of Python values."""
    return list(zip(*(columns[name].tolist() for name in names), strict=True))
