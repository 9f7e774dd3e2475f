"""Numbers that are read again and again while a run lasts, wherever they come from.

A server's views and the kernel's files have one shape here; what is read from differs: a
connection for the first, the machine for the second. What a source is called and what its
columns mean belongs to whoever declares it; keeping time and adding up, to ``telemetry``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from msgspec import Struct

Numbers = Mapping[str, float]
"""Column names and their values at one instant; what is not known is left out."""

Origin = TypeVar("Origin")


@dataclass(frozen=True, kw_only=True)
class Source(Generic[Origin]):
    """Numbers that are read together: cumulative counters, but for those named in ``levels``.

    ``read`` gives the numbers of each object (a table, a device; one empty name where there
    is one row), with ``stats_reset`` as Unix seconds where the origin tells when it last
    set them back. ``share_max`` of one core is what its readings may take.
    """

    name: str
    read: Callable[[Origin], Mapping[str, Numbers]]
    levels: frozenset[str] = frozenset()
    every_s: float = 1.0
    share_max: float = 0.001

    def next_in_s(self, cost_s: float) -> float:
        """When to read again: later than wished where the last reading was dear.

        ``cost_s`` is processor time (of our thread for the machine's files); waiting for a
        processor must not count, or a busy machine would be watched least.
        """
        return max(self.every_s, cost_s / self.share_max)


class Missing(Struct, frozen=True):
    """A source that this origin, or our role there, does not give, and why."""

    source: str
    reason: str
