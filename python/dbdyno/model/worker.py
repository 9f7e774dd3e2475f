"""What each of the engines that shared a load did."""

from collections.abc import Sequence

from msgspec import Struct


class WorkerPart(Struct, frozen=True, kw_only=True):
    """One agent's part of a run, as it reported it; None is what only its end would have told.

    One that is lost may have told that: its load was given up, while others went on.
    """

    name: str
    host: str
    clients: Sequence[int]
    """Their numbers over the whole run."""
    threads: int
    transactions: int
    cpu_us: int | None
    response: bytes | None
    """The histogram of its response times."""
    clock_offset_ns: int
    clock_bound_ns: int
    clock_drifted_ns: int
    begun_late_ns: int | None
    lost_at_s: float | None
    why_lost: str
