"""Sessions and locks, sampled while a session waits."""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import pytest
from psycopg import Connection, errors

from dbdyno.databases.adapter import FreeConnections
from dbdyno.databases.postgresql.over_postgresql import ADAPTER
from dbdyno.databases.postgresql.telemetry.locks import MODES
from dbdyno.databases.telemetry import Locks, Sessions
from dbdyno.servers.base import Server
from dbdyno.servers.private import start_private
from dbdyno.servers.spec import ServerSpec
from tests.conftest import SMALL
from tests.support.patience import eventually

TELEMETRY = ADAPTER.telemetry
UPDATE = "update t set v = v + 1 where id = 1"


@contextmanager
def queue_for(
    database: Server, watcher: Connection, held: str, *wanted: str
) -> Iterator[tuple[int, list[int], list[Locks]]]:
    """A session that holds something, others that request it one by one, and the locks then."""
    with ExitStack() as stack:
        holder, *others = (stack.enter_context(database.connect()) for _ in ("", *wanted))
        holder.execute("begin")
        holder.execute(held.encode())
        threads = [
            threading.Thread(target=other.execute, args=(statement.encode(),))
            for other, statement in zip(others, wanted, strict=True)
        ]
        try:
            for come, thread in enumerate(threads, 1):
                thread.start()
                locks = eventually(
                    lambda: locks_now(watcher),
                    lambda found, come=come: len(pids_of(found, granted=False)) == come,
                )
            yield holder.info.backend_pid, [x.info.backend_pid for x in others], locks
        finally:
            holder.execute("rollback")
            for thread in threads:
                thread.join()


def locks_now(watcher: Connection) -> list[Locks]:
    _, locks = TELEMETRY.sample_with_locks(watcher)()
    return locks


def pids_of(locks: list[Locks], *, granted: bool) -> set[int]:
    return {pid for its in locks if its.granted == granted for pid in its.pids}


def waited_for(locks: list[Locks], pid: int) -> Locks:
    (found,) = [its for its in locks if pid in its.pids and not its.granted]
    return found


def holders(locks: list[Locks], of: Locks) -> set[int]:
    same = [
        its
        for its in locks
        if its.object_key == of.object_key and TELEMETRY.conflicts(its.mode, of.mode)
    ]
    return pids_of(same, granted=True)


@pytest.fixture
def table(worker: Connection) -> None:
    worker.execute("create table t (id int primary key, v int); insert into t values (1, 0)")


def test_without_waits_no_lock_is_reported(watcher: Connection, worker: Connection, table) -> None:
    worker.execute("begin")
    worker.execute(UPDATE)
    assert locks_now(watcher) == []


def test_a_queue_for_a_row(any_database: Server, watcher: Connection, table) -> None:
    """The first waits for the holder's transaction, the next for the first's mark on the row."""
    with queue_for(any_database, watcher, UPDATE, UPDATE, UPDATE) as (holder, others, locks):
        first, second = (waited_for(locks, pid) for pid in others)
        assert (first.kind, first.mode) == ("transactionid", "ShareLock")
        assert (second.kind, second.mode) == ("tuple", "ExclusiveLock")
        for lock in (first, second):
            assert (lock.relation, lock.row) == ("t", "(0,1)")
            assert all(0 <= waited_s < 60 for waited_s in lock.waited_s)
        assert holders(locks, first) == {holder}
        assert holders(locks, second) == {others[0]}


def test_sessions_that_wait_alike_are_reported_together(
    any_database: Server, watcher: Connection, table
) -> None:
    with queue_for(any_database, watcher, UPDATE, *4 * [UPDATE]) as (_, others, locks):
        behind = waited_for(locks, others[1])
        assert set(behind.pids) == set(others[1:])
        assert len(behind.waited_s) == 3
        assert set(session_of(watcher, others[1]).pids) == set(others[1:])


def test_looks_while_a_queue_comes_and_goes(
    any_database: Server, watcher: Connection, table
) -> None:
    """The short query must find the queue, and the long one that it has gone."""
    for _ in range(2):
        assert locks_now(watcher) == []
        with queue_for(any_database, watcher, UPDATE, UPDATE) as (holder, others, _):
            assert pids_of(locks_now(watcher), granted=False) == set(others)
            assert holder in {pid for alike in sessions_now(watcher) for pid in alike.pids}


def test_a_queue_behind_a_prepared_transaction() -> None:
    """It has no session: its process number is 0."""
    spec = ServerSpec(settings={**SMALL, "max_prepared_transactions": "1"})
    held = f"begin; {UPDATE}; prepare transaction 'held'; begin"
    with start_private(spec, connections=8) as server, server.connect() as watcher:
        watcher.execute("create table t (id int primary key, v int); insert into t values (1, 0)")
        with queue_for(server, watcher, held, UPDATE) as (_, others, locks):
            assert holders(locks, waited_for(locks, others[0])) == {0}
            watcher.execute("rollback prepared 'held'")


def test_a_queue_for_a_table(any_database: Server, watcher: Connection, worker: Connection) -> None:
    worker.execute("create schema other; create table other.t (id int)")
    lock = "lock table other.t in access exclusive mode"
    with queue_for(any_database, watcher, lock, "select * from other.t") as (holder, others, locks):
        wanted = waited_for(locks, others[0])
        assert (wanted.kind, wanted.mode) == ("relation", "AccessShareLock")
        assert (wanted.relation, wanted.row) == ("other.t", "")
        assert holders(locks, wanted) == {holder}


def test_a_queue_for_an_advisory_lock(any_database: Server, watcher: Connection) -> None:
    lock = "select pg_advisory_xact_lock(7)"
    with queue_for(any_database, watcher, lock, lock) as (holder, others, locks):
        wanted = waited_for(locks, others[0])
        assert (wanted.kind, wanted.relation, wanted.row) == ("advisory", "", "")
        assert holders(locks, wanted) == {holder}


def test_locks_without_waiters_are_left_out(
    any_database: Server, watcher: Connection, worker: Connection, table
) -> None:
    with queue_for(any_database, watcher, UPDATE, UPDATE) as (holder, others, _):
        worker.execute("begin")
        worker.execute("create table mine (id int)")
        locks = locks_now(watcher)
        assert pids_of(locks, granted=True) | pids_of(locks, granted=False) == {holder, *others}


@pytest.mark.parametrize("mode", MODES)
def test_modes_conflict_as_the_server_has_it(
    connection: Connection, database: Server, mode: str
) -> None:
    connection.execute("create table t (id int)")
    with database.connect() as other:
        connection.execute("begin")
        connection.execute(f"lock table t in {mode_name(mode)} mode".encode())
        assert {wanted for wanted in MODES if not gets(other, wanted)} == {
            wanted for wanted in MODES if TELEMETRY.conflicts(mode, wanted)
        }


def mode_name(mode: str) -> str:
    """Return a lock mode as in a statement: ``Row Share`` for ``RowShareLock``."""
    return "".join(f" {c}" if c.isupper() else c for c in mode.removesuffix("Lock"))


def gets(connection: Connection, mode: str) -> bool:
    try:
        with connection.transaction():
            connection.execute(f"lock table t in {mode_name(mode)} mode nowait".encode())
    except errors.LockNotAvailable:
        return False
    return True


def sessions_now(watcher: Connection) -> list[Sessions]:
    sessions, _ = TELEMETRY.sample_with_locks(watcher)()
    return sessions


def session_of(watcher: Connection, pid: int) -> Sessions:
    (found,) = [alike for alike in sessions_now(watcher) if pid in alike.pids]
    return found


def waits_for(kind: str) -> Callable[[Sessions], bool]:
    return lambda session: session.wait_type == kind


def test_who_waits_for_what(any_database: Server, watcher: Connection, table) -> None:
    with queue_for(any_database, watcher, UPDATE, UPDATE) as (holder, others, _):
        # It is in the queue a moment before it is reported as waiting.
        waiter = eventually(lambda: session_of(watcher, others[0]), waits_for("Lock"))
        assert (waiter.kind, waiter.state, waiter.text) == ("client", "active", UPDATE)
        assert (waiter.wait_type, waiter.wait_event) == ("Lock", "transactionid")
        # A session receives its answer a moment before the server waits for the next statement.
        blocker = eventually(lambda: session_of(watcher, holder), waits_for("Client"))
        assert (blocker.state, blocker.text) == ("idle in transaction", UPDATE)
        assert (blocker.wait_type, blocker.wait_event) == ("Client", "ClientRead")


def test_long_texts_are_cut(watcher: Connection, worker: Connection) -> None:
    worker.execute("select 'ä" + 5000 * "x" + "'")
    text = session_of(watcher, worker.info.backend_pid).text
    assert text.startswith("select 'äx")
    assert len(text) == 100


def test_sessions_of_telemetry_and_of_other_databases_are_not_reported(
    any_server: Server,
    new_database: Callable[[Server], Server],
    watcher: Connection,
    worker: Connection,
) -> None:
    with new_database(any_server).connect() as elsewhere:
        pids = {pid for alike in sessions_now(watcher) for pid in alike.pids}
        assert worker.info.backend_pid in pids
        assert not {watcher.info.backend_pid, elsewhere.info.backend_pid} & pids


def test_the_servers_own_processes_are_reported(watcher: Connection) -> None:
    wanted = {"checkpointer", "background writer", "walwriter"}
    # A server accepts clients a moment before all of its processes have started.
    eventually(lambda: {alike.kind for alike in sessions_now(watcher)}, wanted.issubset)


def test_without_rights_sessions_are_clients_of_which_nothing_is_known(
    plain_watcher: Connection, worker: Connection
) -> None:
    worker.execute("select 1")
    session = session_of(plain_watcher, worker.info.backend_pid)
    assert (session.kind, session.state, session.wait_type, session.text) == ("client", "", "", "")


def test_every_open_session_leaves_room_for_one_less(
    any_database: Server, worker: Connection
) -> None:
    def before_and_after() -> tuple[FreeConnections, FreeConnections]:
        before = ADAPTER.free_connections(worker)
        with any_database.connect():
            return before, ADAPTER.free_connections(worker)

    # A closed session remains for a moment, and may disappear in between.
    _, after = eventually(before_and_after, lambda seen: seen[1].count == seen[0].count - 1)
    assert "max_connections 100, 3 reserved" in after.reason
