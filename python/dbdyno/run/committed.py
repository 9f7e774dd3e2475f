"""How many transactions of each script the server has committed, as far as can be known.

Invariants concern the server's data, so the warm-up counts, and so does uncertainty: a transaction
whose end was not seen may or may not have been committed.
"""

from collections.abc import Sequence

from dbdyno.model.frame import Done, Interval
from dbdyno.workloads.invariants import Committed


class CommitCounter:
    """Adds up the measurement intervals of one run."""

    def __init__(self, scripts: Sequence[str]) -> None:
        self._committed_of = dict.fromkeys(scripts, 0)
        self._committed_total = 0
        self._failed_unmeasured = 0

    def add(self, interval: Interval) -> None:
        """Add an interval, of any phase."""
        self._committed_total += interval.completed_committed
        is_warmup = interval.phase == "warmup"
        measured = 0 if is_warmup else sum(script.failed for script in interval.scripts)
        self._failed_unmeasured += interval.completed_failed - measured
        for name, script in zip(self._committed_of, interval.scripts, strict=True):
            self._committed_of[name] += script.committed

    def committed(self, done: Done) -> dict[str, Committed]:
        """Return the bounds for each script."""
        # Begun in the warm-up and ended after it: counted in the total, but not for any script.
        unattributed = self._committed_total - sum(self._committed_of.values())
        certain = unattributed if len(self._committed_of) == 1 else 0
        unseen = (
            done.counters.unfinished
            + done.counters.left_open
            + self._failed_unmeasured
            + _cut_off(done)
        )
        return {
            name: Committed(at_least=seen + certain, at_most=seen + unattributed + unseen)
            for name, seen in self._committed_of.items()
        }


def _cut_off(done: Done) -> int:
    """Count the failures in which the reply to a commit may have been lost."""
    return sum(f.count for f in done.failures if f.failure_class in ("connection", "cancelled"))
