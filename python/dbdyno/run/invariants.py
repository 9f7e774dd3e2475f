"""The workload's invariants over one run: the numbers before and after, and what was violated.

They concern the server's data, so the warm-up counts, and so does uncertainty: a transaction whose
end was not seen may or may not have been committed. Conditions hold at every instant: the cheap
ones are also read about once a minute while the load runs.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Thread
from typing import Literal, TypeAlias

from msgspec.structs import replace

from dbdyno.errors import DbdynoError
from dbdyno.model.frame import Done, Interval
from dbdyno.model.record import CheckRecord
from dbdyno.run.connected_server import ConnectedServer, connect_to
from dbdyno.servers.base import Server
from dbdyno.workloads.base import Workload
from dbdyno.workloads.conditions import all_readings, told
from dbdyno.workloads.invariants import UNBOUNDED, Committed, Snapshot
from dbdyno.workloads.parameters import Values

READ_EACH_NS = 60 * 10**9
"""How often the cheap conditions are read while the load runs."""
PATIENCE_S = 10.0
"""For how long a reading that has begun may hold up the end of a run."""
LAST_READING_TRIES, LAST_READING_AGAIN_S = 3, 1.0
"""The reading at the end is what the run's validity rests on: if its session is ended, or the
server restarts, it is tried again on another connection, a moment later."""

Excused: TypeAlias = Literal["nothing", "missing commits", "anything"]
"""What events of a run may have done to its data: those commits that are there are whole, unless
nothing at all is promised."""


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

    def committed(self, done: Done, *, has_lost_worker: bool = False) -> dict[str, Committed]:
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
            name: Committed(
                at_least=seen + certain,
                at_most=UNBOUNDED if has_lost_worker else seen + unattributed + unseen,
            )
            for name, seen in self._committed_of.items()
        }


class ConditionReader:
    """Reads the cheap conditions while a load runs, each time in a thread of its own.

    It uses the control connection, which is idle until the load has ended. The engine's clock says
    when, so the first reading is a minute after the load began.
    """

    def __init__(self, connected: ConnectedServer, workload: Workload, values: Values) -> None:
        self.readings: list[list[CheckRecord]] = []
        self.doubt: str | None = None
        """Why it gave up."""
        self._connected = connected
        self._workload = workload
        cheap = tuple(one for one in workload.conditions if one.is_cheap)
        # Of much data even these read so much that the load would feel it.
        self._conditions = cheap if workload.reads_all_conditions(values) else ()
        self._began_ns: int | None = None
        self._next_ns = 0
        self._reading: Thread | None = None

    def take(self, interval: Interval) -> None:
        """Take an interval of the load; it may be time to read."""
        if self._began_ns is None:
            self._began_ns = interval.begin_ns
            self._next_ns = self._began_ns + READ_EACH_NS
        is_busy = self._reading is not None and self._reading.is_alive()
        is_due = interval.end_ns >= self._next_ns and interval.phase != "drain"
        if not self._conditions or self.doubt or is_busy or not is_due:
            return
        self._next_ns = interval.end_ns + READ_EACH_NS
        at_s = (interval.end_ns - self._began_ns) / 1e9
        # A server that answers nothing must not keep the process alive.
        self._reading = Thread(target=self._read, args=(at_s,), name="conditions", daemon=True)
        self._reading.start()

    def finish(self) -> None:
        """Wait for a reading that has begun."""
        if self._reading is None:
            return
        self._reading.join(PATIENCE_S)
        if self._reading.is_alive():
            self.doubt = f"reading the conditions took longer than {PATIENCE_S:g} s at the end"

    def _read(self, at_s: float) -> None:
        target, control = self._connected.target, self._connected.control
        try:
            with target.understood("read the conditions while the load runs"):
                found = self._workload.check_conditions(target, control, self._conditions)
        except DbdynoError as error:
            self.doubt = f"conditions could not be read while the load ran: {error.message}"
            return
        self.readings.append(
            [one if one.ok else replace(one, broken_at_s=at_s) for one in found],
        )


@dataclass(frozen=True)
class Before:
    """The numbers before a load, which it must change as the laws say."""

    numbers: Snapshot | None
    """None if the role may not read them: then ``doubt`` says so."""
    rows: dict[str, int] = field(default_factory=dict)
    """How many rows broke each condition that only serializable transactions promise."""
    doubt: str = ""


@dataclass
class Watch:
    """Snapshots around a run; ``commits`` and ``reader`` are kept up to date during the run."""

    workload: Workload
    values: Values
    commits: CommitCounter
    reader: ConditionReader
    before: Snapshot | None
    """None if the role may not read the numbers: then the doubts say so."""
    rows_before: dict[str, int] = field(default_factory=dict)
    """How many rows broke each condition that only serializable transactions promise."""
    doubts: list[str] = field(default_factory=list)
    read: list[str] = field(default_factory=list)
    """Names of the numbers that were compared."""
    checks: list[CheckRecord] = field(default_factory=list)
    """What was found of each condition that was read."""

    def take(self, interval: Interval) -> None:
        """Take an interval of the run in progress."""
        self.commits.add(interval)
        if self.before is not None:
            self.reader.take(interval)

    def violations(
        self,
        connected: ConnectedServer,
        done: Done,
        level: str | None,
        *,
        excused: Excused = "nothing",
        has_lost_worker: bool = False,
    ) -> list[str]:
        """Return what the run violated, at its isolation level.

        If the server no longer answers, that is a doubt; so are what the level let through, and
        what is excused.
        """
        if self.before is None:
            return []
        workload, readings = self.workload, self.reader.readings
        self.doubts += [self.reader.doubt] if self.reader.doubt else []
        found: list[str] = []
        try:
            after, last = self._last_reading(connected.server)
        except DbdynoError as error:
            self.doubts.append(f"{_unchecked(error)} (tried {LAST_READING_TRIES} times)")
        else:
            readings = [*readings, last]
            self.read = [*after]
            committed = self.commits.committed(done, has_lost_worker=has_lost_worker)
            broken = workload.verify(self.values, self.before, after, committed)
            fewer = {name: replace(one, at_least=0) for name, one in committed.items()}
            if excused == "nothing":
                faults = broken
            elif excused == "missing commits":
                faults = workload.verify(self.values, self.before, after, fewer)
            else:
                faults = []
            found += [one.message for one in faults]
            if not faults:
                self.doubts += [one.message for one in broken]
        by_id = all_readings(readings)
        self.checks = [
            replace(by_id[one.id], rows_before=self.rows_before.get(one.id))
            for one in workload.conditions
            if one.id in by_id
        ]
        is_promised = level == "serializable"
        for one in self.checks:
            is_fault = one.rows_before is None or (is_promised and one.rows > one.rows_before)
            if not one.ok:
                (found if is_fault else self.doubts).append(told(one))
        return found

    def _last_reading(self, server: Server) -> tuple[Snapshot, list[CheckRecord]]:
        for _ in range(LAST_READING_TRIES - 1):
            try:
                return self._read(server)
            except DbdynoError:
                time.sleep(LAST_READING_AGAIN_S)
        return self._read(server)

    def _read(self, server: Server) -> tuple[Snapshot, list[CheckRecord]]:
        workload, conditions = self.workload, self.workload.conditions_after(self.values)
        with connect_to(server) as again, again.target.understood("check invariants"):
            after = workload.snapshot(again.target, again.control, self.values, self.before)
            return after, workload.check_conditions(again.target, again.control, conditions)


def read_before(connected: ConnectedServer, workload: Workload, values: Values) -> Before:
    """Read the numbers before the run.

    A role that may run the scripts need not be allowed to read all rows of all tables.
    """
    target, control = connected.target, connected.control
    by_level = [one for one in workload.conditions_after(values) if one.isolation_decides]
    try:
        with target.understood("read the numbers that the invariants compare"):
            numbers = workload.snapshot(target, control, values)
            broken = workload.check_conditions(target, control, by_level)
    except DbdynoError as error:
        if error.code != "no_rights":
            raise
        return Before(None, doubt=_unchecked(error))
    return Before(numbers, {one.id: one.rows for one in broken})


def begin_watch(
    connected: ConnectedServer, workload: Workload, values: Values, before: Before
) -> Watch:
    """Return the watch over a run whose numbers ``before`` have been read."""
    scripts = [script.name for script in workload.scripts(values, connected.target.sql_dialect)]
    return Watch(
        workload,
        values,
        CommitCounter(scripts),
        ConditionReader(connected, workload, values),
        before.numbers,
        before.rows,
        doubts=[before.doubt] if before.doubt else [],
    )


def _unchecked(error: DbdynoError) -> str:
    return f"the invariants could not be checked: {error.message}"
