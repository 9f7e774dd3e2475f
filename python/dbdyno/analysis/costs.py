"""What one committed transaction cost: of processor time, WAL, buffers, switches, bytes.

Costs hardly move with noise, so they stand beside throughput everywhere. Each is the ratio
of two sums over the same seconds; its interval is that of a ratio of autocorrelated series.
"""

from dbdyno.model.record import CostRecord
from dbdyno.model.recording import Recording


def costs(recording: Recording) -> list[CostRecord]:
    """Every cost that was measured, those of single scripts after those of all together."""
    raise NotImplementedError


def cost(found: list[CostRecord], wanted: str) -> float | None:
    """The value of one cost of all scripts together; None if it was not measured."""
    raise NotImplementedError
