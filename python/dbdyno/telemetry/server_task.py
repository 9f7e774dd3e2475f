"""Reads the server's numbers while the load runs, and facts about it before and after.

The last reading waits until the load's sessions have disconnected: PostgreSQL, for example,
publishes a session's counters about once a second, and the rest when the session ends.
"""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from itertools import chain

from dbdyno.databases.connection import Connection
from dbdyno.databases.telemetry import ScriptStatement, StandbyLag
from dbdyno.model.frame import Started
from dbdyno.model.source import Missing, Numbers, Source
from dbdyno.model.telemetry import ServerFacts
from dbdyno.telemetry.load_clock import LoadClock
from dbdyno.telemetry.publisher import SERVER, FramePublisher, error_line
from dbdyno.telemetry.reading import Reader
from dbdyno.telemetry.telemetry_connection import TelemetryConnection, Unavailable

DISCONNECT_MAX_S = 1.0
POLL_S = 0.05


class ServerTask:
    """The numbers and facts of one server that matter to these statements.

    Scripts that generate their statements have them in the list only after the load has begun: the
    tables and plans of these are among the facts that are taken after the load.
    """

    name = SERVER

    def __init__(
        self,
        connection: TelemetryConnection,
        statements: Sequence[ScriptStatement],
        load_sessions: Callable[[], Collection[int]],
        keep_facts: Callable[[str, ServerFacts], None],
        publisher: FramePublisher,
    ) -> None:
        self._connection = connection
        self._statements = statements
        self._load_sessions = load_sessions
        self._keep_facts = keep_facts
        self._publisher = publisher
        self._reader = Reader(connection, (), publisher)

    def prepare(self) -> None:
        """Find out which sources can be read, and take the facts before the load."""
        sources, missing = self._connection.call(self._find_sources)
        for lack in missing:
            self._publisher.publish_lack(lack.source, lack.reason)
        self._reader = Reader(self._connection, sources, self._publisher)
        self._take_facts("before")

    def _find_sources(
        self, connection: Connection
    ) -> tuple[list[Source[Connection]], list[Missing]]:
        return self._connection.telemetry.sources(connection, self._statements)

    def _take_facts(self, when: str) -> None:
        try:
            facts = self._connection.call(
                lambda connection: self._connection.telemetry.facts(connection, self._statements)
            )
            self._keep_facts(when, facts)
        except Unavailable as unavailable:
            why = str(unavailable) or "the server cannot be reached"
            self._publisher.publish_lack("facts", f"not known {when} the load: {why}")
        except Exception as error:  # the run continues, whatever the error
            self._publisher.publish_lack("facts", f"not known {when} the load: {error_line(error)}")

    def read_baseline(self) -> None:
        """Read every source a first time."""
        self._reader.read_all()

    def watch(self, started: Started, load_clock: LoadClock) -> None:
        """Read each source when it is due."""
        self._reader.follow(started, load_clock)

    def conclude(self) -> None:
        """Take the last reading and facts, once the load's sessions have disconnected."""
        self._await_disconnects()
        self._reader.read_all()
        self._take_facts("after")

    def _await_disconnects(self) -> None:
        deadline = time.monotonic() + DISCONNECT_MAX_S
        gone = False
        while not gone and time.monotonic() < deadline:
            try:
                sessions, _ = self._connection.call(self._connection.telemetry.sample_with_locks)()
                there = chain.from_iterable(alike.pids for alike in sessions)
                gone = set(self._load_sessions()).isdisjoint(there)
            except Exception:  # the next reading reports why
                return
            if not gone:
                time.sleep(POLL_S)


class StandbysTask:
    """How far each standby is behind, of a server that does not know it.

    The standbys are by the name under which their lag is recorded, with a connection and what
    measures it. One that cannot be reached is left out of a reading.
    """

    name = "standbys"

    def __init__(
        self,
        primary: TelemetryConnection,
        standbys: Mapping[str, tuple[TelemetryConnection, StandbyLag]],
        publisher: FramePublisher,
    ) -> None:
        self._standbys = standbys
        levels = frozenset({"lag_bytes", "replay_lag_s"})
        source = Source(name="replication", read=self._read, levels=levels)
        self._reader = Reader(primary, [source], publisher)

    def _read(self, primary: Connection) -> dict[str, Numbers]:
        found = {}
        for name, (connection, lag) in self._standbys.items():
            try:
                found[name] = connection.call(partial(lag.read, primary))
            except Unavailable:
                continue
        return found

    def prepare(self) -> None:
        """Do nothing: the first reading shows what can be read."""

    def read_baseline(self) -> None:
        """Read a first time."""
        self._reader.read_all()

    def watch(self, started: Started, load_clock: LoadClock) -> None:
        """Read until the load ends."""
        self._reader.follow(started, load_clock)

    def conclude(self) -> None:
        """Do nothing: lag after the load is not that of the run."""
