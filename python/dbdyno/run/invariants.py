"""The workload's invariants over one run: the numbers before and after, and what was violated."""

from dataclasses import dataclass, field

from dbdyno.errors import DbdynoError
from dbdyno.model.frame import Done
from dbdyno.run.committed import CommitCounter
from dbdyno.run.connected_server import ConnectedServer, connect_to
from dbdyno.workloads.base import Workload
from dbdyno.workloads.invariants import Snapshot
from dbdyno.workloads.parameters import Values


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
