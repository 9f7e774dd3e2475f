"""Numbers that are read repeatedly while a run lasts, whatever their origin.

A server's views and the kernel's files have the same shape here; only their origin differs: a
connection for the first, the host for the second. Whoever declares a source defines its name and
the meaning of its columns; ``telemetry`` does the timing and the arithmetic.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from msgspec import Struct

Numbers = Mapping[str, float]
"""Column names and their values at one instant; unknown ones are left out or None.

A server may return a number as text. What is none at all, telemetry leaves out and says so."""

Origin = TypeVar("Origin")


@dataclass(frozen=True, kw_only=True)
class Source(Generic[Origin]):
    """Numbers that are read together: cumulative counters, except those named in ``levels``.

    ``read`` returns the numbers of each object (a table, a device; one empty name if there is one
    row), with ``stats_reset`` in Unix seconds if the origin reports when it last reset them.
    ``share_max`` is the share of one core that readings may take.
    """

    name: str
    read: Callable[[Origin], Mapping[str, Numbers]]
    levels: frozenset[str] = frozenset()
    every_s: float = 1.0
    share_max: float = 0.001

    def next_in_s(self, cost_s: float) -> float:
        """Return the seconds until the next reading, which is later after an expensive one."""
        return max(self.every_s, cost_s / self.share_max)


class Missing(Struct, frozen=True):
    """A source that this origin, or our role there, does not provide, and why."""

    source: str
    reason: str
