"""How much throughput each kind of event cost, and what no event explains.

Against one baseline: the median of steady intervals without an event. Overlapping events
share by a non-negative regression on all of them at once. Whether a kind cost anything is
tested by placing its events elsewhere in the run, at random, many times.
"""

from msgspec import Struct

from dbdyno.model.recording import Recording


class Loss(Struct, frozen=True, kw_only=True):
    """Transactions lost to events of one kind, as a share of all that were lost.

    ``of_run`` is the share of what the run could have done at its baseline. ``chance`` is
    the part of random placements that lost as much; ``low`` and ``high`` come from the
    repeats of the event, and are None where there was only one.
    """

    kind: str
    occurrences: int
    transactions: float
    share: float
    of_run: float
    low: float | None
    high: float | None
    chance: float


class Losses(Struct, frozen=True, kw_only=True):
    """Sum and parts; ``unexplained`` is the share that no event covers."""

    baseline_tps: float
    baseline_low: float
    baseline_high: float
    transactions: float
    of_run: float
    by_kind: list[Loss]
    unexplained: float


def losses(recording: Recording) -> Losses | None:
    """None when there are too few intervals for a baseline."""
    raise NotImplementedError
