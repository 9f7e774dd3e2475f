"""Spans of consecutive samples."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Mask: TypeAlias = NDArray[np.bool_]
Places: TypeAlias = NDArray[np.int64]
Span: TypeAlias = tuple[int, int]


def true_spans(condition: Mask) -> list[Span]:
    """Spans in which the condition holds: begin and end of each, the end exclusive."""
    edges = np.flatnonzero(np.diff(condition.astype(np.int8), prepend=0, append=0)).tolist()
    return list(zip(edges[::2], edges[1::2], strict=True))


def extended_to_low_end(ends: Places, is_low: Mask) -> Places:
    """Ends of spans, moved to the end of the low samples there or directly after."""
    until = np.arange(len(is_low) + 1)
    for begin, end in true_spans(is_low):
        until[begin : end + 1] = end
    moved: Places = until[ends]
    return moved
