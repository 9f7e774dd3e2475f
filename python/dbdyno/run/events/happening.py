"""Makes planned events happen while a load runs, and records what a witness saw of them.

A thread of its own waits for each instant. An event that fails, such as a server that does not
start again, is recorded with its reason and never ends the run: what follows is what is measured.
"""

import math
import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from dbdyno.databases.connecting import open_connection, url_of
from dbdyno.databases.connection import Connection
from dbdyno.databases.durability import LOST_MAX_MS
from dbdyno.errors import DbdynoError
from dbdyno.formatting import milliseconds
from dbdyno.model.database import Promise
from dbdyno.model.record import FailoverRecord
from dbdyno.run.bystanders.witness import Witness
from dbdyno.run.connected_server import ConnectedServer
from dbdyno.run.events.planned import PlannedEvent
from dbdyno.run.network_delay.way import SlowWay
from dbdyno.run.shell_command import run_command
from dbdyno.servers.existing import ExistingServer
from dbdyno.servers.private import PrivateServer

OUTPUT_END = 200
"""How many characters of a failed command's output are quoted: the last ones."""


@dataclass(frozen=True, kw_only=True)
class Happened:
    """One event that has happened; instants are in ns of the monotonic clock."""

    event: PlannedEvent
    begin_ns: int
    end_ns: int
    error: str
    is_followed: bool
    """Whether all standbys have received whatever was acknowledged before."""


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

    def records(self, promise: Promise | None) -> list[FailoverRecord]:
        """Return what the witness saw of each event that has happened.

        ``promise`` is the durability level of the server; None if it has none.
        """
        self.end()
        seen, happened = self._witness.testimony(), self._happened
        began_ns = [one.begin_ns for one in happened]
        errors_ns = [
            _first(seen.errors_ns, *span_ns)
            for span_ns in zip(began_ns, [*began_ns[1:], math.inf], strict=True)
        ]
        # What is acknowledged until the first error was acknowledged before the server was gone.
        gone_ns = [error or began for error, began in zip(errors_ns, began_ns, strict=True)]
        befores_ns = zip([0, *gone_ns], [*gone_ns[:-1], math.inf], strict=False)
        nexts_ns = [*began_ns[1:], math.inf]
        records = []
        for one, error_ns, at_ns, before_ns, next_ns in zip(
            happened, errors_ns, gone_ns, befores_ns, nexts_ns, strict=False
        ):
            lost_ns = seen.lost_ns and _within(seen.lost_ns, *before_ns)
            commits_ns = seen.resumed_ns if error_ns else seen.acknowledged_ns
            commit_ns = _first(commits_ns, at_ns, next_ns)
            # A durability level is about one host: what another one has, its standbys decide.
            allowed_ms = LOST_MAX_MS[promise] if promise else math.inf
            if one.event.action == "promote":
                allowed_ms = 0.0 if one.is_followed else math.inf
            elif isinstance(self.server, ExistingServer) and self.server.further:
                allowed_ms = math.inf
            records.append(
                FailoverRecord(
                    event=one.event.name,
                    at_s=(one.begin_ns - self._measured_from_ns) / 1e9,
                    took_ms=None if one.error else (one.end_ns - one.begin_ns) / 1e6,
                    error=one.error,
                    first_error_ms=error_ns and (error_ns - one.begin_ns) / 1e6,
                    first_commit_ms=commit_ns and (commit_ns - one.begin_ns) / 1e6,
                    acknowledged=len(_within(seen.acknowledged_ns, before_ns[0], at_ns)),
                    lost=None if lost_ns is None else len(lost_ns),
                    # Others may still be acknowledged when one has seen the first error.
                    lost_ms=max(0.0, (at_ns - lost_ns[0]) / 1e6) if lost_ns else None,
                    loss_allowed_ms=None if math.isinf(allowed_ms) else allowed_ms,
                )
            )
        return records

    def _make_happen(self) -> None:
        for event in self._events:
            wait_ns = self._measured_from_ns + event.at_ns - time.monotonic_ns()
            if self._over.wait(max(wait_ns, 0) / 1e9):
                return
            begin_ns, error = time.monotonic_ns(), ""
            is_followed = (
                isinstance(self.server, PrivateServer) and self.server.is_followed_synchronously
            )
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


def _within(instants_ns: Sequence[int], begin_ns: float, end_ns: float) -> Sequence[int]:
    """Return those of instants in order that are not before the begin, and before the end."""
    return instants_ns[bisect_left(instants_ns, begin_ns) : bisect_left(instants_ns, end_ns)]


def _first(instants_ns: Sequence[int], begin_ns: float, end_ns: float) -> int | None:
    return next(iter(_within(instants_ns, begin_ns, end_ns)), None)


@contextmanager
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
        witness = Witness(connect)
        witness.create()
    happenings = Happenings(events, connected, way, witness, say)
    try:
        yield happenings
    finally:
        happenings.end()
        witness.drop()
