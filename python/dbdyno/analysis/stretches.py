"""Stretches of samples in a row."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Mask: TypeAlias = NDArray[np.bool_]
Places: TypeAlias = NDArray[np.int64]
Span: TypeAlias = tuple[int, int]


def runs(condition: Mask) -> list[Span]:
    """Where it holds: begin and end of each stretch, the end not in it."""
    edges = np.flatnonzero(np.diff(condition.astype(np.int8), prepend=0, append=0)).tolist()
    return list(zip(edges[::2], edges[1::2], strict=True))


def prolonged(ends: Places, is_low: Mask) -> Places:
    """Ends of stretches, moved to the end of what is low there or directly after."""
    until = np.arange(len(is_low) + 1)
    for begin, end in runs(is_low):
        until[begin : end + 1] = end
    moved: Places = until[ends]
    return moved
