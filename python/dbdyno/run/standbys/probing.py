"""The standbys of one run, and the probe that runs beside its load.

A server that does not let the probe create its table has standbys all the same.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from dbdyno.errors import DbdynoError
from dbdyno.model.plan import Plan
from dbdyno.model.record import StandbyRecord
from dbdyno.run.bystanders.probe import Probe
from dbdyno.run.connected_server import ConnectedServer
from dbdyno.run.job import Job
from dbdyno.run.standbys.finding import Standby, find_standbys


class ProbedStandbys:
    """The standbys of a run; there may be none."""

    def __init__(self, standbys: Sequence[Standby], probe: Probe | None) -> None:
        self.all = standbys
        self._probe = probe

    def begin(self, measure_begin_ns: int) -> None:
        """Let the probe begin with the measured part of the load."""
        if self._probe:
            self._probe.begin(measure_begin_ns)

    def end(self) -> None:
        """Let the probe end with the load: nothing is as old once that is over."""
        if self._probe:
            self._probe.end()

    def records(self, plan: Plan) -> list[StandbyRecord]:
        """Return what is known of each standby; the probe ends."""
        readers = plan.clients if plan.endpoint.standby_addresses else 0
        records = [
            StandbyRecord(
                name=standby.name,
                application_name=standby.application_name,
                clients=len(range(number, readers, len(self.all))),  # dealt out in turn
            )
            for number, standby in enumerate(self.all)
        ]
        return self._probe.with_staleness(records) if self._probe else records


@contextmanager
def probing(
    job: Job, connected: ConnectedServer, say: Callable[[str], None]
) -> Iterator[ProbedStandbys]:
    """Find the standbys, and provide for their probe during the block; its table is dropped."""
    are_read = job.work.reads_on_standbys
    standbys = find_standbys(connected.server, are_read=are_read)
    if not standbys:
        yield ProbedStandbys((), None)
        return
    probe = Probe(connected.server.connect, standbys)
    try:
        with connected.target.understood("create the table of the probe"):
            probe.create()
    except DbdynoError as error:
        say(f"how old reads on standbys are is not measured: {error.message}")
        yield ProbedStandbys(standbys, None)
        return
    try:
        yield ProbedStandbys(standbys, probe)
    finally:
        probe.drop(connected.server, say)
