"""The guard: what ends it, and what the next start cleans up if the guard itself was killed."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dbdyno.databases.postgresql.driver.place import parent_of
from dbdyno.databases.postgresql.server.binaries import embedded_binaries
from dbdyno.databases.postgresql.server.shared_memory import release
from dbdyno.errors import DbdynoError
from dbdyno.servers import guard as guard_program
from dbdyno.servers.base import Server
from dbdyno.servers.guard_client import StillEnding
from dbdyno.servers.kept import start_kept, stop_kept
from dbdyno.servers.private import PrivateServer, start_private
from dbdyno.servers.processes import ProcessMark, end, is_running, mark_of
from dbdyno.servers.spec import ServerSpec
from tests.conftest import SMALL
from tests.support.patience import PATIENCE_S, wait_until

# Runs as an ordinary user in its own namespace, as most people run dbdyno.
AS_USER = ("unshare", "--user", "--map-user=1000", "--map-group=1000")
USE_ONCE = """
import os
from pathlib import Path
from dbdyno.servers.private import start_private
from dbdyno.servers.spec import ServerSpec
assert os.geteuid() == 1000
settings = {"shared_buffers": "64MB"}
with start_private(ServerSpec(settings=settings), connections=1) as server:
    with server.connect() as connection:
        print(connection.execute("select 1").fetchone())
"""


def spec() -> ServerSpec:
    return ServerSpec(path=embedded_binaries()[0].folder, settings=SMALL)


def orphaned() -> tuple[PrivateServer, ProcessMark]:
    """A server whose guard was killed, and its process."""
    orphan = start_private(spec(), connections=8)
    assert orphan.process_id is not None
    process = mark_of(orphan.process_id)
    guard = parent_of(orphan.process_id)
    assert guard is not None
    assert end(mark_of(guard), signal.SIGKILL, PATIENCE_S)
    assert is_running(process)
    return orphan, process


def assert_gone(orphan: PrivateServer, process: ProcessMark) -> None:
    assert not is_running(process)
    assert orphan.data_directory is not None
    assert not orphan.data_directory.parent.exists()


def test_a_server_that_lost_its_guard_ends_with_the_run(home: Path) -> None:
    orphan, process = orphaned()
    orphan.stop()
    assert_gone(orphan, process)


def test_a_server_that_lost_its_guard_and_dbdyno_ends_at_the_next_start(home: Path) -> None:
    orphan, process = orphaned()
    with start_private(spec(), connections=8):
        assert_gone(orphan, process)
    orphan.stop()


def test_a_server_without_its_guard_is_no_clean_one(home: Path) -> None:
    orphan, process = orphaned()
    with pytest.raises(DbdynoError, match=r"not shut down cleanly .*unknown: its guard is gone"):
        orphan.shut_down()
    orphan.stop()
    assert_gone(orphan, process)


def test_a_slow_guard_is_reported_and_not_waited_for(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dbdyno.servers.guard_client.STOP_PATIENCE_S", 0)
    server = start_private(spec(), connections=8)
    guard = server.guard.process
    expected = rf"has not stopped after 0 s: its guard \(process {guard.pid}\) continues"
    guard.send_signal(signal.SIGSTOP)  # or it could finish before a busy machine lets us look
    try:
        with pytest.warns(StillEnding, match=expected):
            server.stop()
        assert not server.is_gone
    finally:
        guard.send_signal(signal.SIGCONT)
    guard.wait(PATIENCE_S)
    assert server.is_gone


def test_a_second_signal_does_not_keep_the_guard_from_stopping_the_server(tmp_path: Path) -> None:
    """Service managers, and impatient people, send more than one."""
    at_end = f"kill $! $PPID; sleep 0.5; touch {tmp_path}/stopped; exit"
    server = f"trap '{at_end}' INT; sleep 1000 & echo; wait"
    (folder := tmp_path / "folder").mkdir()
    order = {
        "commands": [["sh", "-c", server]],
        "account": None,
        "folders": [str(folder)],
        "log": str(log := tmp_path / "log"),
        "stop_signal": signal.SIGINT,
        "clean_signal": signal.SIGINT,
        "release": [],
        "placement": {"cpus": [], "policy": None, "groups": []},
    }
    command = [sys.executable, guard_program.__file__, json.dumps(order)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as guard:
        wait_until(lambda: log.exists() and log.read_text(), "the server has started")
        guard.terminate()
        guard.wait(PATIENCE_S)
        assert (tmp_path / "stopped").exists()
    assert not folder.exists()


def test_a_group_that_cannot_be_entered_is_named(tmp_path: Path) -> None:
    (tmp_path / "cgroup.procs").symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left") as caught:
        guard_program._enter(str(tmp_path))
    assert caught.value.filename == f"{tmp_path}/cgroup.procs"


def test_a_server_that_crashes_leaves_its_log_to_read(home: Path) -> None:
    with start_private(spec(), connections=8) as server:
        assert server.process_id is not None
        assert server.log_path is not None
        assert end(mark_of(server.process_id), signal.SIGQUIT, PATIENCE_S)
        assert "received immediate shutdown request" in server.log_path.read_text()
    assert not server.log_path.exists()


def test_an_ordinary_user_needs_nothing(tmp_path: Path) -> None:
    environment = {**os.environ, "DBDYNO_HOME": str(tmp_path / "home")}
    command = [*AS_USER, sys.executable, "-c", USE_ONCE]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (result.stdout, result.stderr) == ("(1,)\n", "")


def processes_of(server: Server) -> list[int]:
    """The server's process and its children."""
    assert server.process_id is not None
    children = Path(f"/proc/{server.process_id}/task/{server.process_id}/children").read_text()
    return [server.process_id, *map(int, children.split())]


def memory_of(server: Server) -> tuple[set[Path], set[str]]:
    """The shared memory of a running PostgreSQL: files, and numbers of segments of System V."""
    maps = []
    for process in processes_of(server):
        with contextlib.suppress(OSError):  # it has just ended
            maps += Path(f"/proc/{process}/maps").read_text().splitlines()
    files = {Path(line.split()[5]) for line in maps if "/dev/shm/PostgreSQL." in line}
    segments = {line.split()[4] for line in maps if "/SYSV" in line}
    assert files, maps
    assert segments, maps
    return files, segments


def left_of(memory: tuple[set[Path], set[str]]) -> tuple[set[Path], set[str]]:
    files, segments = memory
    rows = Path("/proc/sysvipc/shm").read_text().splitlines()[1:]
    return {file for file in files if file.exists()}, segments & {row.split()[1] for row in rows}


def kill(server: Server) -> None:
    """End all processes of a server as the kernel does when memory runs out."""
    for process in processes_of(server):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


def test_a_server_that_was_killed_leaves_no_shared_memory(home: Path) -> None:
    with (
        start_private(spec(), connections=8) as server,
        contextlib.closing(server.connect()) as connection,
    ):
        connection.execute("set debug_parallel_query = on")
        connection.pgconn.send_query(b"select pg_sleep(60)")
        wait_until(lambda: len(memory_of(server)[0]) > 1, "processes share memory of their own")
        memory = memory_of(server)
        kill(server)
        server.stop()
    assert left_of(memory) == (set(), set())


def test_a_server_that_was_killed_with_its_guard_leaves_none_at_the_next_start(home: Path) -> None:
    orphan, _ = orphaned()
    memory = memory_of(orphan)
    kill(orphan)
    assert left_of(memory) == memory
    with start_private(spec(), connections=8):
        assert left_of(memory) == (set(), set())
    orphan.stop()


def test_a_kept_server_that_was_killed_leaves_none(home: Path) -> None:
    server = start_kept("bench", spec(), connections=8)
    memory = memory_of(server)
    kill(server)
    stop_kept("bench")
    assert left_of(memory) == (set(), set())


def test_the_shared_memory_of_a_running_server_is_not_touched(home: Path) -> None:
    with start_private(spec(), connections=8) as server:
        memory = memory_of(server)
        assert server.data_directory is not None
        release(server.data_directory)
        assert left_of(memory) == memory
