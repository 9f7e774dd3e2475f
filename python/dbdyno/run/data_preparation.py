"""Prepares the data of a run on a connected server: loads it if it is missing, and settles it.

Meanwhile it reports what the server waits for. Dropping a table waits for every transaction that
has used it, and with synchronous replication a commit waits for the standby, however long that
takes.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from typing import NamedTuple

from dbdyno.databases.telemetry import Sessions, Telemetry
from dbdyno.formatting import count
from dbdyno.run.connected_server import ConnectedServer
from dbdyno.run.job import Job
from dbdyno.run.plan import cores_available
from dbdyno.run.silence import Presence
from dbdyno.telemetry.blocking import find_waits
from dbdyno.workloads.base import Workload
from dbdyno.workloads.loading import Bulk, LoadProgress, LoadReport
from dbdyno.workloads.parameters import Values
from dbdyno.workloads.preparing import LoadOptions, Place, Prepared, prepare_data

LOOK_INTERVAL_S = 10.0


def prepare(  # noqa: PLR0913 - independent inputs
    connected: ConnectedServer,
    job: Job,
    *,
    bulk: Bulk,
    watch: Callable[[LoadProgress], None],
    say: Callable[[str], None],
    jobs: int | None = None,
) -> Prepared:
    """Prepare the workload's data, which exists or is loaded; scripts alone need none."""
    work = job.work
    if work.workload is None:
        return Prepared(values={}, made_by="")
    with (
        Presence(connected.server.connect, connected.control) as presence,
        lookout(connected, say),
    ):

        def pass_on(progress: LoadProgress) -> None:
            presence.loading(progress)
            watch(progress)

        return prepare_data(
            work.workload,
            work.given,
            Place(connected.target, connected.control, connected.server.endpoint()),
            bulk=bulk,
            options=LoadOptions(
                seed=job.seed,
                jobs=jobs or _load_jobs(cores_available()),
                replace=job.options.replace,
                checkpoint=connected.server.is_private,
            ),
            watch=pass_on,
        )


def settle(connected: ConnectedServer, workload: Workload | None, prepared: Prepared) -> str:
    """Bring a private server into the same state before each run; leave others as they are.

    Returns a message about what could not be written out in time, usually empty.
    """
    if workload is None or not connected.server.is_private or prepared.report is not None:
        return ""  # Freshly loaded data is settled already.
    names = [table.name for table in workload.tables(prepared.values)]
    with connected.target.understood("prepare the server for the run"):
        return connected.target.settle(connected.control, names)


def has_unlogged_tables(
    connected: ConnectedServer, workload: Workload | None, values: Values
) -> bool:
    """Whether a workload has tables that the server empties after a crash.

    The server is asked: those that exist need not be what the parameters would make.
    """
    if workload is None:
        return False
    names = [table.name for table in workload.tables(values)]
    with connected.target.understood("inspect the tables"):
        found = connected.target.find_tables(connected.control, names)
    return any(table.unlogged for table in found.values())


def load_summary(report: LoadReport) -> str:
    """Return a message on what was loaded."""
    seconds = sum(phase.elapsed_s for phase in report.phases)
    phases = ", ".join(f"{phase.name} {phase.elapsed_s:.1f} s" for phase in report.phases)
    fallback = f", {report.detour}" if report.detour else ""
    unwritten = f"; {report.unwritten}" if report.unwritten else ""
    connections = "one connection" if report.jobs == 1 else f"{report.jobs} connections"
    more = f" more, where {count(report.rows_before)} were," if report.rows_before else ""
    return (
        f"loaded {count(report.rows)} rows{more} over {connections} in {seconds:.1f} s "
        f"({count(report.rows_per_s)} rows/s: {phases}){fallback}{unwritten}"
    )


def _load_jobs(cores: int) -> int:
    """Number of connections that load in parallel.

    A single one copies frozen rows; several must be followed by a vacuum that freezes, which takes
    as long as a second core saves.
    """
    return cores if cores > 2 else 1


class ControlWait(NamedTuple):
    """What the control connection executes, what that waits for, and who causes it if known."""

    statement: str
    awaited: str
    cause: str


@contextmanager
def lookout(
    connected: ConnectedServer, say: Callable[[str], None], interval_s: float = LOOK_INTERVAL_S
) -> Iterator[None]:
    """Look regularly, within the block, what the control connection waits for.

    A wait that is the same at two looks in a row is reported once. The end of the block does not
    wait for a look in progress. Databases without telemetry are not looked at.
    """
    telemetry = connected.target.telemetry
    if telemetry is None:
        yield
        return
    with connected.target.understood("ask for the session's number"):
        look = partial(_look, connected, telemetry, telemetry.pid(connected.control))
    over = threading.Event()
    looking = (look, say, partial(over.wait, interval_s))
    threading.Thread(target=_watch, args=looking, name="lookout", daemon=True).start()
    try:
        yield
    finally:
        over.set()


def _watch(
    look: Callable[[], ControlWait | None], say: Callable[[str], None], is_over: Callable[[], bool]
) -> None:
    last, told = None, set[ControlWait]()
    while not is_over():
        wait = None
        # Presence reports a server that no longer answers; no other error may disturb the load.
        with suppress(Exception):
            wait = look()
        if wait is not None and wait == last and wait not in told:
            told.add(wait)
            say(f"still waiting for {wait.awaited}: {wait.statement}{wait.cause}")
        last = wait


def _look(connected: ConnectedServer, telemetry: Telemetry, pid: int) -> ControlWait | None:
    with (
        closing(connected.server.connect()) as connection,
        connected.target.understood("look what the server waits for"),
    ):
        telemetry.begin(connection)
        sessions, locks = telemetry.sample_with_locks(connection)()
    own = _session(pid, sessions)
    if own is None or own.state != "active" or not own.wait_type:
        return None
    waits = find_waits(locks, telemetry.conflicts)
    blocker = next((wait.blocker for wait in waits if pid in wait.locks.pids), None)
    cause = ""
    if blocker is not None:
        session = _session(blocker, sessions)
        what = f", {session.state}: {_line(session.text)}" if session is not None else ""
        cause = f" (blocked by session {blocker}{what})"
    return ControlWait(_line(own.text), f"{own.wait_type} {own.wait_event}", cause)


def _session(pid: int, sessions: list[Sessions]) -> Sessions | None:
    return next((alike for alike in sessions if pid in alike.pids), None)


def _line(text: str) -> str:
    return " ".join(text.split())
