"""A run as loaded from its folder: plain values and columns, with no file behind them.

This is the input of ``analysis``, ``explain`` and ``report``. Columns are numpy arrays, all of the
same length within a table; the tables and their columns are listed in ``store/tables.py``.
Histograms remain in the bytes that the engine wrote; :class:`Histograms` reads them.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from dbdyno.errors import DbdynoError
from dbdyno.model.record import RunRecord

Column: TypeAlias = NDArray[Any]
Columns: TypeAlias = dict[str, Column]


class UnreadableTableError(DbdynoError):
    """A table whose file is damaged: what needs it cannot be known. The message names the file."""


class Tables(dict[str, Columns]):
    """The tables of a run; one that cannot be read raises UnreadableTableError when it is used.

    As an empty table it would be taken for a run in which nothing of the kind happened.
    """

    def __init__(self, readable: Mapping[str, Columns], damaged: Mapping[str, str]) -> None:
        super().__init__(readable)
        self.damaged = damaged

    def __missing__(self, name: str) -> Columns:
        """Raise the error of a damaged table."""
        if name not in self.damaged:
            raise KeyError(name)
        raise UnreadableTableError("damaged", self.damaged[name])


class Recording(Struct, frozen=True, kw_only=True, eq=False, weakref=True):
    """Everything that one run folder contains. Compared by identity, since it contains arrays.

    Results computed from it can therefore be cached for as long as it lives.
    """

    record: RunRecord
    plan: Mapping[str, Any]
    host: Mapping[str, Any]
    server: Mapping[str, Any]
    engine: Mapping[str, Any]
    """The engine's frames about itself: ``hello``, ``connected``, ``started``, ``done``."""
    facts: Mapping[str, Any] = {}
    """``before`` and ``after`` the load: each a ``ServerFacts`` as plain values."""
    schema: Mapping[str, Any] = {}
    """A ``RecordedSchema`` as plain values; empty if it was not recorded."""
    tables: Mapping[str, Columns]


class Histograms(Struct, frozen=True):
    """Arithmetic on histogram bytes, done by the engine's module."""

    quantiles: Callable[[bytes, list[float]], list[int]]
    """Nanoseconds at each quantile (0 to 1)."""
    merge: Callable[[list[bytes]], bytes]
    bars: Callable[[bytes], bytes]
    """Little-endian u64 triples (low, high, count) of the bars that are not empty."""

    def bar_columns(self, histogram: bytes) -> tuple[Column, Column, Column]:
        """Return the lower and upper bounds in nanoseconds and the counts of all non-empty bars."""
        triples = np.frombuffer(self.bars(histogram), dtype="<u8").reshape(-1, 3)
        return triples[:, 0], triples[:, 1], triples[:, 2]


def rows(columns: Columns, names: Sequence[str]) -> list[tuple[Any, ...]]:
    """Return the named columns as rows of Python values."""
    return list(zip(*(columns[name].tolist() for name in names), strict=True))
