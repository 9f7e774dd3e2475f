"""The transactions that the engine reports one by one, as rows of numbers."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dbdyno.model.frame import Transactions

ROW = np.dtype(
    [
        ("client", "<u4"),
        ("script", "<u2"),
        ("fate", "<u2"),
        ("tries", "<u4"),
        ("due", "<u8"),
        ("sent", "<u8"),
        ("done", "<u8"),
    ]
)
OK, SKIPPED, SERIALIZATION, DEADLOCK, OTHER = range(5)
"""The fates of a transaction."""
Rows: TypeAlias = NDArray[Any]


def rows_of(transactions: Transactions) -> Rows:
    """Return the rows in the order in which they ended."""
    rows = np.frombuffer(transactions.rows, dtype=ROW)
    return rows[np.argsort(rows["done"], kind="stable")]
