"""The workload's invariants over one run: the numbers before and after, and what was violated.

They concern the server's data, so the warm-up counts, and so does uncertainty: a transaction whose
end was not seen may or may not have been committed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from dbdyno.errors import DbdynoError
from dbdyno.model.frame import Done, Interval
from dbdyno.run.connected_server import ConnectedServer, connect_to
from dbdyno.workloads.base import Workload
from dbdyno.workloads.invariants import Committed, Snapshot
from dbdyno.workloads.parameters import Values


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
        # The reply to a commit may have been lost.
        lost = ("connection", "cancelled")
        cut_off = sum(one.count for one in done.failures if one.failure_class in lost)
        unseen = (
            done.counters.unfinished + done.counters.left_open + self._failed_unmeasured + cut_off
        )
        return {
            name: Committed(at_least=seen + certain, at_most=seen + unattributed + unseen)
            for name, seen in self._committed_of.items()
        }


@dataclass
class Watch:
    """Snapshots around a run; ``commits`` is updated during the run."""

    workload: Workload
    values: Values
    commits: CommitCounter
    before: Snapshot | None
    """None if the role may not read the numbers: then the doubts say so."""
    doubts: list[str] = field(default_factory=list)
    read: list[str] = field(default_factory=list)
    """Names of the numbers that were compared."""

    def violations(self, connected: ConnectedServer, done: Done) -> list[str]:
        """Return what the run violated. If the server no longer answers, that is a doubt."""
        if self.before is None:
            return []
        try:
            with (
                connect_to(connected.server) as again,
                again.target.understood("check invariants"),
            ):
                after = self.workload.snapshot(again.target, again.control, self.values)
        except DbdynoError as error:
            self.doubts.append(_unchecked(error))
            return []
        self.read = [*after]
        committed = self.commits.committed(done)
        found = self.workload.verify(self.values, self.before, after, committed)
        return [violation.message for violation in found]


def begin_watch(connected: ConnectedServer, workload: Workload, values: Values) -> Watch:
    """Read the numbers before the run.

    A role that may run the scripts need not be allowed to read all rows of all tables.
    """
    scripts = [script.name for script in workload.scripts(values, connected.target.sql_dialect)]
    commits = CommitCounter(scripts)
    try:
        with connected.target.understood("read the numbers that the invariants compare"):
            before = workload.snapshot(connected.target, connected.control, values)
    except DbdynoError as error:
        if error.code != "no_rights":
            raise
        return Watch(workload, values, commits, None, doubts=[_unchecked(error)])
    return Watch(workload, values, commits, before)


def _unchecked(error: DbdynoError) -> str:
    return f"the invariants could not be checked: {error.message}"
