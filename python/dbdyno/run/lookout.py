"""Reports what the server waits for while the data is prepared, such as a lock that is not freed.

Dropping a table waits for every transaction that has used it, and with synchronous replication a
commit waits for the standby, however long that takes.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from typing import NamedTuple

from dbdyno.run.connected_server import ConnectedServer
from dbdyno.targets.telemetry import Locks, Sessions, Telemetry
from dbdyno.telemetry.blocking import find_waits

INTERVAL_S = 10.0


class ControlWait(NamedTuple):
    """What the control connection executes, what that waits for, and who causes it if known."""

    statement: str
    awaited: str
    cause: str


@contextmanager
def lookout(
    connected: ConnectedServer, say: Callable[[str], None], interval_s: float = INTERVAL_S
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
    cause = _cause(_blocker(pid, locks, telemetry), sessions)
    return ControlWait(_line(own.text), f"{own.wait_type} {own.wait_event}", cause)


def _session(pid: int, sessions: list[Sessions]) -> Sessions | None:
    return next((alike for alike in sessions if pid in alike.pids), None)


def _blocker(pid: int, locks: list[Locks], telemetry: Telemetry) -> int | None:
    waits = find_waits(locks, telemetry.conflicts)
    return next((wait.blocker for wait in waits if pid in wait.locks.pids), None)


def _cause(blocker: int | None, sessions: list[Sessions]) -> str:
    if blocker is None:
        return ""
    session = _session(blocker, sessions)
    what = f", {session.state}: {_line(session.text)}" if session is not None else ""
    return f" (blocked by session {blocker}{what})"


def _line(text: str) -> str:
    return " ".join(text.split())
