"""Disturbances of a run from outside; each ends with its block."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path

from dbdyno.servers.base import Server
from tests.support.patience import wait_until

Disturbance = Callable[[Server], AbstractContextManager[None]]

CPU_GROUPS = Path("/sys/fs/cgroup/cpu")
BURNERS = 4
CLIENTS_MIN = 4
"""The minimum of clients for a crash: more sessions than inspect and prepare before a run."""
PERIOD_US, QUOTA_US = 100_000, 30_000


@contextmanager
def again_and_again(act: Callable[[], None], pause_s: float) -> Iterator[None]:
    """Act repeatedly in a separate thread until the block ends."""
    over = threading.Event()

    def go_on() -> None:
        while not over.wait(pause_s):
            act()

    thread = threading.Thread(target=go_on)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def nothing(_server: Server) -> AbstractContextManager[None]:
    """Do not disturb the run."""
    return nullcontext()


@contextmanager
def checkpoints(server: Server) -> Iterator[None]:
    """Checkpoint every two seconds: each page is then written to the WAL in full again."""
    with server.connect() as connection:

        def checkpoint() -> None:
            connection.execute("checkpoint")

        with again_and_again(checkpoint, 2.0):
            yield


@contextmanager
def idle_transaction(server: Server) -> Iterator[None]:
    """Keep a transaction open that has read a table."""
    with server.connect() as connection:
        connection.execute("begin isolation level repeatable read")
        connection.execute("select count(*) from pg_class")
        yield
        connection.execute("rollback")


@contextmanager
def prepared_transaction(server: Server) -> Iterator[None]:
    """Leave a prepared transaction, whose coordinator never returned."""
    with server.connect() as connection:
        connection.execute("begin")
        connection.execute("select txid_current()")
        connection.execute("prepare transaction 'forgotten'")
        yield
        connection.execute("rollback prepared 'forgotten'")


@contextmanager
def foreign_row_lock(server: Server) -> Iterator[None]:
    """Lock the only branch's row from another program for most of the time."""
    with server.connect() as connection:

        def hold() -> None:
            connection.execute("begin")
            connection.execute("select bid from pgbench_branches where bid = 1 for update")
            time.sleep(0.4)
            connection.execute("rollback")

        with again_and_again(hold, 0.05):
            yield


@contextmanager
def burners(_server: Server) -> Iterator[None]:
    """Run other programs on the server's CPUs."""
    command = [sys.executable, "-c", "while True: pass"]
    started = [subprocess.Popen(command) for _ in range(BURNERS)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


@contextmanager
def crashes(server: Server) -> Iterator[None]:
    """Kill a process of the server: all others are ended with it, and restarted.

    Only during a load: none could begin on a server that is recovering.
    """
    idle = len(_processes(server))

    def crash() -> None:
        processes = _processes(server)
        if len(processes) >= idle + CLIENTS_MIN:
            _send(processes[1], signal.SIGKILL)

    with again_and_again(crash, 4.0):
        yield


def throttled(server: Server) -> AbstractContextManager[None]:
    """Limit the server to a part of a CPU: by its control group, otherwise by signals."""
    return _control_group(server) if os.access(CPU_GROUPS, os.W_OK) else _stopped_by_turns(server)


@contextmanager
def _control_group(server: Server) -> Iterator[None]:
    group = CPU_GROUPS / f"dbdyno-planted-{os.getpid()}"
    group.mkdir()
    try:
        (group / "cpu.cfs_period_us").write_text(str(PERIOD_US))
        (group / "cpu.cfs_quota_us").write_text(str(QUOTA_US))
        _move(_processes(server), group)
        yield
    finally:
        wait_until(lambda: _is_left(group), "the end of those in the group")
        group.rmdir()


def _move(pids: Iterable[int], group: Path) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):  # it has ended meanwhile
            (group / "cgroup.procs").write_text(str(pid))


def _is_left(group: Path) -> bool:
    """Move all processes out of the group; sessions that have just ended take a moment to leave."""
    members = group / "cgroup.procs"
    _move(map(int, members.read_text().split()), CPU_GROUPS)
    return not members.read_text()


@contextmanager
def _stopped_by_turns(server: Server) -> Iterator[None]:
    def stop_for_a_while() -> None:
        for sign in (signal.SIGSTOP, signal.SIGCONT):
            for pid in _processes(server):
                _send(pid, sign)
            if sign == signal.SIGSTOP:
                time.sleep(0.07)

    with again_and_again(stop_for_a_while, 0.03):
        yield


def _send(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):  # it has ended meanwhile
        os.kill(pid, number)


def _processes(server: Server) -> list[int]:
    """Return the server's first process and its children."""
    assert server.process_id is not None
    first = server.process_id
    children = Path(f"/proc/{first}/task/{first}/children").read_text().split()
    return [first, *map(int, children)]
