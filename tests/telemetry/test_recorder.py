"""What is read in which thread and when, and what happens if it fails: on a made-up server."""

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from types import SimpleNamespace

import msgspec
import pytest

from dbdyno.databases.telemetry import PendingSample, Sessions, Telemetry
from dbdyno.model.frame import Activity, Connected, Frame, Hello, Started, StatementInfo
from dbdyno.model.source import Missing, Source
from dbdyno.model.telemetry import ServerFacts, TelemetryFrame
from dbdyno.telemetry.recorder import Recorder, Watched
from tests.support.frames import distribution
from tests.support.patience import PATIENCE_S, wait_until
from tests.telemetry.watched import nobody_watches

MS_NS = 10**6
STEP_NS, LASTS_NS = 20 * MS_NS, 300 * MS_NS
OURS = 500

pytestmark = pytest.mark.usefixtures("patient")


class Folder:
    def __init__(self) -> None:
        self.frames: list[TelemetryFrame] = []
        self.facts: dict = {}
        self.lines: list[str] = []

    def append_frames(self, frames: Sequence[bytes]) -> None:
        self.frames += [msgspec.msgpack.decode(frame, type=TelemetryFrame) for frame in frames]

    def write_facts(self, facts: dict) -> None:
        self.facts = dict(facts)

    def log(self, line: str) -> None:
        self.lines.append(line)

    def of(self, kind: str, source: str | None = None) -> list:
        found = [frame for frame in self.frames if type(frame).__name__ == kind]
        return [frame for frame in found if source in (None, getattr(frame, "source", None))]


class Server:
    """A server with one session, whose counter increases by one with each reading."""

    def __init__(self) -> None:
        self.counted = 0
        self.looked = 0
        self.opened = 0
        self.sessions = [Sessions([7], "client", "active", "", "", "select 1")]

    def connect(self) -> SimpleNamespace:
        self.opened += 1
        connection = SimpleNamespace(closed=False)
        connection.close = lambda: setattr(connection, "closed", True)
        return connection

    def count(self, _connection) -> dict[str, dict[str, float]]:
        self.counted += 1
        return {"": {"commits": self.counted}}

    def look(self, _connection) -> PendingSample:
        self.looked += 1
        seen = list(self.sessions), []
        return lambda: seen

    def telemetry(self, **other) -> Telemetry:
        parts = {
            "dialect": "postgresql",
            "begin": lambda _connection: None,
            "sources": lambda _connection, _statements: (
                [Source(name="counts", read=self.count)],
                [Missing("absent", "not installed")],
            ),
            "sample_with_locks": self.look,
            "conflicts": lambda _mode, _other: False,
            "facts": lambda _connection, _statements: ServerFacts(extensions=("x",)),
            "log_reader": lambda: SimpleNamespace(feed=lambda _text: []),
            "log_path": lambda _connection: None,
            "pid": lambda _connection: OURS,
            "task": lambda _connection: None,
        }
        return Telemetry(**(parts | other))


def recorder(server: Server, folder: Folder, process_id: int | None = None, **other) -> Recorder:
    watched = Watched(
        level="full",
        telemetry=server.telemetry(**other),
        connect=server.connect,
        process_id=process_id,
        data_directory=None,
        log_path=None,
        own_sessions=frozenset(),
        cores=2,
        scripts=("select 1;",),
    )
    return Recorder(watched, folder)


def hello() -> Hello:
    return Hello(1, "epoll", "", 1, 1, [StatementInfo(0, 0, 1, "select 1")], [])


def connected() -> Connected:
    return Connected(1, distribution({}), "15", "", [7])


def started() -> Started:
    now_ns = time.monotonic_ns()
    return Started(now_ns, time.time_ns(), now_ns, None)


def word(at_ns: int) -> Activity:
    return Activity(at_ns, b"\0\0", (7).to_bytes(4, "little"))


def play(watching: Recorder, server: Server, until: Callable[[], object] = lambda: True) -> None:
    """Play a run of 0.3 s, or longer until something is true: the host may stall all this time."""
    watching.take(hello())
    play_from(watching, server, started(), until)


def play_from(
    watching: Recorder,
    server: Server,
    beginning: Started,
    until: Callable[[], object] = lambda: True,
) -> None:
    """Play the rest of such a run, from its beginning."""
    for frame in chain[Frame]([beginning], words(beginning.monotonic_ns, until)):
        watching.take(frame)
    server.sessions = []
    watching.finish()


def words(begin_ns: int, until: Callable[[], object]) -> Iterator[Activity]:
    """Yield the engine's frames, one every 20 ms."""
    at_ns, is_over = begin_ns, False
    while not is_over:
        assert at_ns < begin_ns + PATIENCE_S * 1e9, "what the run waits for does not come"
        at_ns += STEP_NS
        time.sleep(max(at_ns - time.monotonic_ns(), 0) / 1e9)
        # What was sampled until now has its frame, however late that is.
        is_enough = at_ns >= begin_ns + LASTS_NS and until()
        is_over = bool(is_enough) and time.monotonic_ns() < at_ns + STEP_NS
        yield word(at_ns)


def test_all_that_is_seen_of_a_run():
    server, folder = Server(), Folder()
    with recorder(server, folder) as watching:
        play(watching, server, until=lambda: server.looked > 1)
    assert folder.facts == {
        when: msgspec.to_builtins(ServerFacts(extensions=("x",))) for when in ("before", "after")
    }
    first, *_, last = folder.of("Counts", "counts")
    assert (first.deltas, last.deltas) == ([("", "commits", 0)], [("", "commits", 1)])
    assert folder.of("Counts", "machine")
    (look, *_) = folder.of("Waits")
    assert [(its.statement, its.doing, its.state) for its in look.waits] == [
        (0, "asking", "active")
    ]
    assert [its.reason for its in folder.of("Lack", "absent")] == ["not installed"]
    cost = folder.frames[-1]
    assert (cost.samples, cost.server_cpu_us) == (len(folder.of("Waits")), None)
    assert cost.samples > 1
    assert nobody_watches()


def test_cpu_time_of_a_thread_before_it_served_telemetry_is_not_its_cost(tmp_path, monkeypatch):
    """It is known only once the load runs; the same thread serves each of our connections."""
    server, folder = Server(), Folder()
    begun, looked, connect = threading.Event(), threading.Event(), server.connect
    monkeypatch.setattr("dbdyno.telemetry.recorder.ROOT", tmp_path)
    (tmp_path / "proc/7").mkdir(parents=True)

    def use(ms: int) -> None:
        (tmp_path / "next").write_text(f"{ms * MS_NS} 0 0\n")
        (tmp_path / "next").rename(tmp_path / "proc/7/schedstat")

    def connect_late():
        begun.wait()
        return connect()

    def look(_connection):
        looked.set()
        return lambda: ([], [])

    server.connect = connect_late
    use(ms=5000)
    with recorder(
        server, folder, os.getpid(), task=lambda _connection: 7, sample_with_locks=look
    ) as watching:
        watching.take(hello())
        watching.take(started())
        begun.set()
        looked.wait()
        use(ms=5030)
        watching.finish()
    assert 30_000 <= folder.frames[-1].server_cpu_us <= server.opened * 30_000


def test_the_load_begins_once_everything_was_read_the_host_last(monkeypatch):
    read: list[str] = []
    server, folder = Server(), Folder()

    def count(connection) -> dict[str, dict[str, float]]:
        time.sleep(0.1)  # so that a load that did not wait would begin first
        read.append("server")
        return server.count(connection)

    def host_sources(_host) -> tuple[list[Source], list[Missing]]:
        return [Source(name="host", read=lambda _host: read.append("host") or {})], []

    monkeypatch.setattr("dbdyno.telemetry.machine_task.host_sources", host_sources)
    sources = ([Source(name="counts", read=count)], [])
    with recorder(server, folder, sources=lambda _connection, _statements: sources) as watching:
        watching.take(hello())
        assert not read  # its clients are connecting
        watching.take(connected())
        assert read == ["server", "host"]
        play_from(watching, server, started())
    first, *_ = folder.of("Counts", "counts")
    assert first.at_ns < watching._began_ns
    assert not [its for its in folder.of("Lack") if "not ready" in its.reason]


def test_a_server_that_answers_late_holds_the_load_for_a_while_and_not_for_ever(monkeypatch):
    monkeypatch.setattr("dbdyno.telemetry.recorder.BASELINE_MAX_S", 0.1)
    server, folder, answers = Server(), Folder(), threading.Event()

    def count_late(connection) -> dict[str, dict[str, float]]:
        answers.wait()
        return server.count(connection)

    sources = ([Source(name="counts", read=count_late)], [])
    with recorder(server, folder, sources=lambda _connection, _statements: sources) as watching:
        watching.take(hello())
        watching.take(connected())
        assert server.counted == 0
        answers.set()
        play_from(watching, server, started(), until=lambda: folder.of("Counts", "counts"))
    assert [its.reason for its in folder.of("Lack", "server")] == [
        "it was not ready when the load began"
    ]
    assert folder.of("Counts", "machine")


def test_a_run_that_ends_while_its_first_readings_are_awaited(monkeypatch):
    monkeypatch.setattr("dbdyno.telemetry.recorder.BASELINE_MAX_S", 0.1)
    monkeypatch.setattr("dbdyno.telemetry.recorder.PATIENCE_AT_END_S", 0.1)
    monkeypatch.setattr("dbdyno.telemetry.recorder.PATIENCE_ONCE_HUNG_UP_S", 0.1)
    server, folder, answers = Server(), Folder(), threading.Event()

    def facts_late(_connection, _statements) -> ServerFacts:
        answers.wait()
        return ServerFacts()

    with recorder(server, folder, facts=facts_late) as watching:
        watching.take(hello())
        watching.take(connected())
        watching.finish()
    answers.set()
    wait_until(nobody_watches, "the end of telemetry's threads")
    assert server.counted == 0
    assert folder.frames == []


def test_a_run_that_never_began_leaves_nothing():
    server, folder = Server(), Folder()
    with recorder(server, folder) as watching:
        watching.take(hello())
        watching.finish()
    assert folder.frames == []


def test_a_source_that_fails_is_reported_once_and_read_again():
    server, folder = Server(), Folder()

    def fail(_connection):
        raise ValueError("no such thing")

    with recorder(server, folder, sample_with_locks=fail) as watching:
        play(watching, server, until=lambda: folder.of("Lack", "waits"))
    assert [its.reason for its in folder.of("Lack", "waits")] == ["no such thing"]
    assert folder.of("Counts", "counts")


def test_a_connection_that_breaks_is_opened_again_and_its_counters_are_not_trusted():
    server, folder = Server(), Folder()
    failed = threading.Event()

    def count(connection):
        if folder.of("Counts", "counts") and not failed.is_set():
            failed.set()
            connection.closed = True
            raise OSError("the server closed the connection")
        return server.count(connection)

    sources = ([Source(name="counts", read=count)], [])
    with recorder(server, folder, sources=lambda _connection, _statements: sources) as watching:
        play(watching, server, until=lambda: len(folder.of("Counts", "counts")) > 1)
    assert [its.reason for its in folder.of("Lack", "server")] == [
        "the server closed the connection"
    ]
    counts = folder.of("Counts", "counts")
    assert [its.was_reset for its in counts] == [False, True, *[False] * (len(counts) - 2)]
    assert [len(its.deltas) for its in counts] == [1, 0, *[1] * (len(counts) - 2)]


def test_facts_of_a_stopped_server_are_missing_with_a_reason():
    server, folder = Server(), Folder()
    is_gone, connect = threading.Event(), server.connect

    def connect_while_there():
        if is_gone.is_set():
            raise OSError("connection refused")
        return connect()

    def count(connection):
        is_gone.set()
        connection.closed = True
        raise OSError("the server closed the connection")

    server.connect = connect_while_there
    sources = ([Source(name="counts", read=count)], [])
    with recorder(server, folder, sources=lambda _connection, _statements: sources) as watching:
        play(watching, server)
    (reason,) = (its.reason for its in folder.of("Lack", "facts"))
    assert reason.removeprefix("not known after the load: ") in {
        "the server cannot be reached",
        "connection refused",
    }


def test_a_server_that_cannot_be_reached():
    def refuse():
        raise OSError("no more connections")

    server, folder = Server(), Folder()
    server.connect = refuse
    with recorder(server, folder) as watching:
        play(watching, server)
    assert "no more connections" in folder.of("Lack", "server")[0].reason
    assert folder.of("Counts", "machine")


def test_a_malformed_sample_is_reported_once_and_the_rest_continues():
    server, folder = Server(), Folder()
    looks: list[object] = []

    def look(connection):
        looks.append(connection)
        return lambda: 1 / 0

    with recorder(server, folder, sample_with_locks=look) as watching:
        play(watching, server, until=lambda: looks)
    assert [its.reason for its in folder.of("Lack", "waits")] == ["division by zero"]
    assert folder.of("Counts", "counts")


def test_an_internal_error_is_recorded_as_missing_data():
    server, folder = Server(), Folder()
    with recorder(server, folder, log_reader=lambda: 1 / 0) as watching:
        play(watching, server)
    assert [its.reason for its in folder.of("Lack", "telemetry")] == ["division by zero"]


@pytest.mark.parametrize("process_id", [None, os.getpid()], ids=["unknown", "known"])
def test_a_server_elsewhere_names_no_log_of_this_machine(tmp_path, process_id):
    """If both hosts keep their logs in the same place, the path leads to another server's log."""
    server, folder, log = Server(), Folder(), tmp_path / "log"
    log.touch()
    with recorder(server, folder, process_id, log_path=lambda _connection: log) as watching:
        play(watching, server)
    assert bool(folder.of("Lack", "log")) == (process_id is None)


def test_a_folder_that_takes_no_more_ends_nothing():
    class Full(Folder):
        def append_frames(self, frames: Sequence[bytes]) -> None:
            raise OSError("no space left")

    server, folder = Server(), Full()
    with recorder(server, folder) as watching:
        play(watching, server)
    assert folder.frames == []


def test_looks_without_a_word_of_the_engine():
    server, folder = Server(), Folder()
    looks: list[object] = []

    def look(connection):
        looks.append(connection)
        return lambda: ([], [])

    with recorder(server, folder, sample_with_locks=look) as watching:
        watching.take(hello())
        watching.take(started())
        wait_until(lambda: len(looks) > 1, "a look that is over")
        watching.finish()
    assert "never sampled together" in folder.of("Lack", "waits")[0].reason
    assert folder.frames[-1].samples == 0


def test_a_server_that_does_not_answer_is_hung_up_on(monkeypatch):
    monkeypatch.setattr("dbdyno.telemetry.recorder.PATIENCE_AT_END_S", 0.1)
    server, folder = Server(), Folder()
    near, far = socket.socketpair()
    connection = SimpleNamespace(closed=False, fileno=near.fileno, close=lambda: None)
    server.connect = lambda: connection

    def slow_facts(_connection, _statements):
        near.recv(1)
        raise OSError("hung up")

    with near, far:
        with recorder(server, folder, facts=slow_facts) as watching:
            play(watching, server)
        assert type(folder.frames[-1]).__name__ == "TelemetryCost"
        wait_until(nobody_watches, "the end of telemetry's threads")


def test_a_server_that_accepts_too_late_is_not_queried(monkeypatch):
    monkeypatch.setattr("dbdyno.telemetry.recorder.PATIENCE_AT_END_S", 0.1)
    monkeypatch.setattr("dbdyno.telemetry.recorder.PATIENCE_ONCE_HUNG_UP_S", 0.1)
    server, folder, opens = Server(), Folder(), threading.Event()
    connect, connections = server.connect, []

    def connect_late():
        opens.wait()
        connections.append(connect())
        return connections[-1]

    server.connect = connect_late
    with recorder(server, folder) as watching:
        play(watching, server)
    opens.set()
    wait_until(nobody_watches, "the end of telemetry's threads")
    assert connections
    assert all(connection.closed for connection in connections)
    assert server.counted == 0


def test_once_the_run_is_over_its_folder_takes_no_facts(monkeypatch):
    monkeypatch.setattr("dbdyno.telemetry.recorder.PATIENCE_AT_END_S", 0.1)
    monkeypatch.setattr("dbdyno.telemetry.recorder.PATIENCE_ONCE_HUNG_UP_S", 0.1)
    server, folder, answers = Server(), Folder(), threading.Event()

    def facts_late(_connection, _statements) -> ServerFacts:
        answers.wait()
        return ServerFacts(extensions=("x",))

    with recorder(server, folder, facts=facts_late) as watching:
        play(watching, server)
    answers.set()
    wait_until(nobody_watches, "the end of telemetry's threads")
    assert folder.facts == {}
