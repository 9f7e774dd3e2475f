"""Prepares the data of a run on a connected server: loads it if it is missing, and settles it."""

from collections.abc import Callable

from dbdyno.formatting import count
from dbdyno.run.connected_server import ConnectedServer
from dbdyno.run.lookout import lookout
from dbdyno.run.options import DataOptions
from dbdyno.run.plan import cores_available
from dbdyno.run.presence import Presence
from dbdyno.run.work import Work
from dbdyno.workloads.base import Workload
from dbdyno.workloads.loading import Bulk, LoadProgress, LoadReport
from dbdyno.workloads.preparing import LoadOptions, Place, Prepared, prepare_data


def prepare(  # noqa: PLR0913 - independent inputs
    connected: ConnectedServer,
    work: Work,
    options: DataOptions,
    *,
    seed: int,
    bulk: Bulk,
    watch: Callable[[LoadProgress], None],
    say: Callable[[str], None],
    jobs: int | None = None,
) -> Prepared:
    """Prepare the workload's data, which exists or is loaded; scripts alone need none."""
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
                seed=seed,
                jobs=jobs or _load_jobs(cores_available()),
                replace=options.replace,
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


def load_summary(report: LoadReport) -> str:
    """Return a message on what was loaded."""
    seconds = sum(phase.elapsed_s for phase in report.phases)
    phases = ", ".join(f"{phase.name} {phase.elapsed_s:.1f} s" for phase in report.phases)
    fallback = f", {report.detour}" if report.detour else ""
    unwritten = f"; {report.unwritten}" if report.unwritten else ""
    return (
        f"loaded {count(report.rows)} rows over {_connections(report.jobs)} in {seconds:.1f} s "
        f"({count(report.rows_per_s)} rows/s: {phases}){fallback}{unwritten}"
    )


def _connections(number: int) -> str:
    return "one connection" if number == 1 else f"{number} connections"


def _load_jobs(cores: int) -> int:
    """Number of connections that load in parallel.

    A single one copies frozen rows; several must be followed by a vacuum that freezes, which takes
    as long as a second core saves.
    """
    return cores if cores > 2 else 1
