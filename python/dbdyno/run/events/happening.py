"""Makes planned events happen while a load runs, and records what a witness saw of them.

A thread of its own waits for each instant. An event that fails, such as a server that does not
start again, is recorded with its reason and never ends the run: what follows is what is measured.
"""

import contextlib
import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence

from dbdyno.databases.connecting import driver_of, open_connection, url_of
from dbdyno.databases.connection import Connection
from dbdyno.errors import DbdynoError
from dbdyno.formatting import milliseconds
from dbdyno.model.record import FailoverRecord
from dbdyno.run.bystanders.witness import Witness
from dbdyno.run.connected_server import ConnectedServer
from dbdyno.run.events.judging import Happened, judged
from dbdyno.run.events.planned import PlannedEvent
from dbdyno.run.network_delay.way import SlowWay
from dbdyno.run.shell_command import run_command
from dbdyno.servers.existing import ExistingServer
from dbdyno.servers.private import PrivateServer

OUTPUT_END = 200
"""How many characters of a failed command's output are quoted: the last ones."""


class Happenings:
    """The events of one run."""

    def __init__(
        self,
        events: Sequence[PlannedEvent],
        connected: ConnectedServer,
        way: SlowWay | None,
        witness: Witness,
        say: Callable[[str], None],
    ) -> None:
        self._events = sorted(events, key=lambda event: event.at_ns)
        self.server = connected.server
        """The one that has the load at present."""
        self._way = way
        self._witness = witness
        self._say = say
        self._happened: list[Happened] = []
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._measured_from_ns = 0

    def begin(self, measure_begin_ns: int) -> None:
        """Let them happen: the load has begun, and is measured from this instant on."""
        self._measured_from_ns = measure_begin_ns
        self._witness.begin()
        self._thread = threading.Thread(target=self._make_happen, name="events", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Let no further event happen, and wait for one that has begun; a command is killed."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()

    def records(self, lost_max_ms: float) -> list[FailoverRecord]:
        """Return what the witness saw of each event that has happened.

        ``lost_max_ms`` is what the server's settings allow a crash to lose; infinite if they
        promise nothing.
        """
        self.end()
        if isinstance(self.server, ExistingServer) and self.server.further:
            lost_max_ms = math.inf  # what was acknowledged may be on another one
        seen = self._witness.testimony()
        return judged(self._happened, seen, lost_max_ms, self._measured_from_ns)

    def _make_happen(self) -> None:
        for event in self._events:
            wait_ns = self._measured_from_ns + event.at_ns - time.monotonic_ns()
            if self._over.wait(max(wait_ns, 0) / 1e9):
                return
            is_followed = False
            if event.action == "promote":
                assert isinstance(self.server, PrivateServer)
                with contextlib.suppress(Exception):  # of any driver: then nothing is promised
                    is_followed = self.server.is_followed_synchronously()
            begin_ns, error = time.monotonic_ns(), ""
            self._say(f"event: {event.name}")
            try:
                self._do(event)
            except DbdynoError as failed:
                error = failed.message
            except Exception as failed:  # the run goes on, whatever it was
                error = f"{type(failed).__name__}: {failed}"
            end_ns = time.monotonic_ns()
            took = milliseconds((end_ns - begin_ns) / 1e6)
            self._say(f"event: {event.name} {f'failed: {error}' if error else f'took {took}'}")
            self._happened.append(
                Happened(
                    event=event,
                    begin_ns=begin_ns,
                    end_ns=end_ns,
                    error=error,
                    is_followed=is_followed,
                )
            )

    def _do(self, event: PlannedEvent) -> None:
        if event.action == "exec":
            if failure := run_command(event.command, self.server, {}, self._over):
                said = failure.output.strip()[-OUTPUT_END:]
                raise DbdynoError("event", f"{failure.how}{said and f': {said}'}")
        elif event.action == "cut":
            assert self._way
            self._way.cut(event.cut_ns, self._over)
        else:
            assert isinstance(self.server, PrivateServer)
            if event.action == "restart":
                self.server.shut_down()
            else:
                self.server.kill()
            if event.action == "promote":
                assert self._way
                successor = self.server.standbys[event.standby - 1]
                successor.promote()
                self._way.lead_to(successor.endpoint())
                self.server = successor
            else:
                self.server = self.server.started_again()


@contextlib.contextmanager
def happening(
    events: Sequence[PlannedEvent],
    connected: ConnectedServer,
    way: SlowWay | None,
    say: Callable[[str], None],
) -> Iterator[Happenings | None]:
    """Provide for the events during the block; their witness has a table in the database."""
    if not events:
        yield None
        return

    def connect() -> Connection:
        """Open a connection by the way that the load takes."""
        server = connected.server
        return open_connection(url_of(way.to(server.endpoint()))) if way else server.connect()

    with connected.target.understood("create the table of the witness, which --event needs"):
        witness = Witness(connect, driver_of(connected.server.endpoint().protocol))
        witness.create()
    happenings = Happenings(events, connected, way, witness, say)
    try:
        yield happenings
    finally:
        happenings.end()
        witness.drop(connected.server, say)
