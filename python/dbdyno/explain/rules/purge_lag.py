"""Purge lag: old row versions are created faster than they are purged.

Looks for: a history list that grows throughout the run although no transaction is older than the
load's own. What an old transaction holds back is reported by ``long_transaction``.

Arithmetic: the history list counts transactions whose old versions have not been purged yet. Its
growth per second over the commits per second is the part of the purging that is deferred: from a
fifth on it is minor, from half on major, because deferred work must still be done, at the expense
of a later load.

Source: MySQL manual, purge configuration (innodb_purge_threads, innodb_max_purge_lag).

Wrong when: the run is short: purge works in batches, and starts late after a pause.
"""

from typing import ClassVar

from dbdyno.explain.needs import throughput_tps
from dbdyno.explain.resources.purge import history_of
from dbdyno.explain.rule import NOTICED, Aside, Claim, NotFound, Rule
from dbdyno.formatting import count, percent, seconds
from dbdyno.model.record import Severity
from dbdyno.model.run import Run

PUT_OFF_MUCH = 0.2
PUT_OFF_MOST = 0.5
LENGTH_MIN = 10_000


class PurgeLag(Claim, frozen=True, kw_only=True):
    """The length of the history list at both ends, and the part of the purging put off."""

    history_first: float
    history_last: float
    put_off: float
    """Of what was committed."""
    per_s: Aside[float]

    @property
    def severity(self) -> Severity:
        if self.put_off >= PUT_OFF_MOST:
            return "major"
        return "minor" if self.put_off >= PUT_OFF_MUCH else "note"

    @property
    def summary(self) -> str:
        return (
            f"The history list grew from {count(self.history_first)} to "
            f"{count(self.history_last)} transactions: {percent(self.put_off)} of what was "
            "committed was not purged."
        )

    @property
    def seen(self) -> list[str]:
        return [f"It grew by {count(self.per_s)} transactions per second."]

    why: ClassVar[str] = (
        "Readers step through old versions, and the undo log grows; a continuous load pays for "
        "their removal, this run did not."
    )
    advice: ClassVar[list[str]] = [
        "Give purge more threads (innodb_purge_threads) and storage that keeps up.",
        "Run longer before you compare: the list must stop growing.",
    ]
    refute: ClassVar[str] = "Run at half the rate: the list must stay short."


def look(run: Run) -> PurgeLag | NotFound:
    """Report the part of the purging that was deferred."""
    history = history_of(run)
    put_off = max(history.length.per_s, 0.0) / throughput_tps(run)
    if history.is_held:
        return NotFound(f"a transaction {seconds(history.oldest_s)} old holds the purge back")
    if put_off < NOTICED or history.length.last < LENGTH_MIN:
        return NotFound(f"the history list ended at {count(history.length.last)} transactions")
    return PurgeLag(
        history_first=history.length.first,
        history_last=history.length.last,
        put_off=put_off,
        per_s=history.length.per_s,
    )


RULE = Rule(
    id="purge_lag",
    title="Purge lag: old row versions accumulate",
    look=look,
    needs=frozenset({"purge"}),
)
