"""A MariaDB database: a table of three rows, and sessions that wait for each other."""

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

import pymysql

from dbdyno.databases.connection import Connection
from dbdyno.databases.mysql.telemetry import TELEMETRY
from dbdyno.databases.mysql.telemetry.transactions import REFRESHED_AFTER_S
from dbdyno.databases.telemetry import Locks, Sessions
from dbdyno.servers.base import Server
from tests.support.patience import eventually

TABLE = """
    create table t (id int primary key, v int, filler varchar(100), key t_v (v));
    insert into t (id, v) values (1, 0), (2, 0), (5, 0)"""
UPDATE = "update t set v = v + 1 where id = 1"


class Queue(NamedTuple):
    """A session that holds something, those that wait, and what a sample shows of them."""

    holder: int
    others: list[int]
    sessions: list[Sessions]
    locks: list[Locks]

    def waited_for(self, number: int) -> Locks:
        (lock,) = [its for its in self.locks if number in its.pids and not its.granted]
        return lock

    def holders(self, of: Locks) -> set[int]:
        return {
            pid
            for its in self.locks
            if its.granted
            and its.object_key == of.object_key
            and TELEMETRY.conflicts(its.mode, of.mode)
            for pid in its.pids
        }


def seen_waiting(look: tuple[list[Sessions], list[Locks]]) -> list[int]:
    """Return the sessions that wait for a lock."""
    return [pid for its in look[0] if its.wait_type == "Lock" for pid in its.pids]


def wait_for_fresh_transaction_list() -> None:
    """Wait, as otherwise the server would return its previous list of transactions."""
    time.sleep(REFRESHED_AFTER_S * 1.5)


def later_look(watcher: Connection) -> tuple[list[Sessions], list[Locks]]:
    wait_for_fresh_transaction_list()
    return TELEMETRY.sample_with_locks(watcher)()


def in_transaction(connection: Connection, statement: str) -> None:
    """Execute a statement, ignoring errors: a session that is killed or times out fails no test."""
    try:
        connection.execute("begin")
        connection.execute(statement)
        connection.execute("rollback")
    except pymysql.Error:
        pass


@contextmanager
def queue_for(database: Server, watcher: Connection, held: str, *wanted: str) -> Iterator[Queue]:
    with ExitStack() as stack:
        holder, *others = (stack.enter_context(database.connect()) for _ in ("", *wanted))
        numbers = [TELEMETRY.pid(session) for session in (holder, *others)]
        threads = [
            threading.Thread(target=in_transaction, args=pair)
            for pair in zip(others, wanted, strict=True)
        ]
        holder.execute("begin")
        holder.execute(held)
        try:
            for thread in threads:
                thread.start()
            look = eventually(
                lambda: later_look(watcher), lambda found: len(seen_waiting(found)) == len(wanted)
            )
            yield Queue(numbers[0], numbers[1:], *look)
        finally:
            holder.execute("rollback")
            for thread in threads:
                thread.join()
