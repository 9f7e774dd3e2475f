"""The sessions' part of a look: who runs what, and who waits for what.

The server's list of sessions is put together with InnoDB's list of transactions and, where the
server keeps it, with the wait that the performance schema sees. Merged here and not by a join:
these tables have no indexes, and a join took four times as long with 500 sessions.
"""

from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from dbdyno.targets.connection import Connection
from dbdyno.targets.mysql.telemetry.place import Here
from dbdyno.targets.mysql.telemetry.stages import NONE, Wait, wait_of_stage
from dbdyno.targets.mysql.telemetry.transactions import Transactions
from dbdyno.targets.telemetry import Sessions

TEXT_LENGTH = 100

# Of this database. A session's number in the kernel tells whether it has a processor.
LIST_MARIADB = f"""
    select id, command, coalesce(state, ''), coalesce(left(info, {TEXT_LENGTH}), ''), tid, 0
    from information_schema.processlist
    where id <> connection_id() and (db = database() or db is null)"""
LIST_MYSQL = f"""
    select id, command, coalesce(state, ''), coalesce(left(info, {TEXT_LENGTH}), ''), 0, 0
    from information_schema.processlist
    where id <> connection_id() and (db = database() or db is null)"""
LIST_SCHEMA = f"""
    select processlist_id, processlist_command, coalesce(processlist_state, ''),
        coalesce(left(processlist_info, {TEXT_LENGTH}), ''), ifnull(thread_os_id, 0), thread_id
    from performance_schema.threads
    where processlist_id <> connection_id() and type = 'FOREGROUND'
        and (processlist_db = database() or processlist_db is null)"""

# Waits within waits: the innermost began last. The handler's own is the work on a row.
WAITS = """
    select thread_id, event_id, event_name, operation
    from performance_schema.events_waits_current
    where end_event_id is null and event_name not in ('idle', 'wait/io/table/sql/handler',
        'wait/lock/table/sql/handler', 'wait/io/socket/sql/client_connection')"""

IDLE = "Sleep"
ACTIVE = "active"
# Sessions that are no client's, by their command.
OWN = {
    "Daemon": "daemon",
    "Binlog Dump": "binlog dump",
    "Binlog Dump GTID": "binlog dump",
    "Slave_IO": "replica I/O",
    "Slave_SQL": "replica SQL",
    "Slave_worker": "replica worker",
}
CLIENT = "client"
ROW_WAIT = Wait("Lock", "record")


class _Listed(NamedTuple):
    """A row of the list; ``task`` is the kernel's number, ``thread`` the performance schema's."""

    number: int
    command: str
    stage: str
    text: str
    task: int
    thread: int


class _Words(NamedTuple):
    """What is told of a session besides its numbers."""

    kind: str
    state: str
    wait_type: str
    wait_event: str
    text: str


def sessions(connection: Connection, place: Here, of: Transactions) -> list[Sessions]:
    """All sessions but our own, those alike together."""
    waits = _waits(connection) if place.has_waits else {}
    listed = map(_Listed._make, connection.execute(_list(place)).fetchall())
    alike: dict[_Words, list[_Listed]] = defaultdict(list)
    for one in listed:
        alike[_words(one, of, waits.get(one.thread, NONE))].append(one)
    return [
        Sessions(
            pids=[one.number for one in ones],
            tasks=[int(one.task) for one in ones],
            **words._asdict(),
        )
        for words, ones in alike.items()
    ]


def _list(place: Here) -> str:
    if place.has_schema:
        return LIST_SCHEMA
    return LIST_MARIADB if place.is_mariadb else LIST_MYSQL


def _waits(connection: Connection) -> Mapping[int, Wait]:
    """What each thread waits for at this moment."""
    rows = sorted(connection.execute(WAITS).fetchall())
    return {thread: _event(name, operation) for thread, _, name, operation in rows}


def _event(name: str, operation: str) -> Wait:
    """``wait/io/file/innodb/innodb_log_file`` and ``sync``: as its kind and its name."""
    _, kind, family, what = name.split("/", 3)
    return Wait(f"{kind}/{family}", f"{what} {operation}" if kind == "io" else what)


def _words(its: _Listed, of: Transactions, seen: Wait) -> _Words:
    state = _state(its.command, is_open=its.number in of.open)
    wait = _wait(its, of, seen) if state == ACTIVE else NONE
    return _Words(OWN.get(its.command, CLIENT), state, *wait, its.text)


def _state(command: str, *, is_open: bool) -> str:
    """In the words that all servers share."""
    if command != IDLE:
        return ACTIVE
    return "idle in transaction" if is_open else "idle"


def _wait(its: _Listed, of: Transactions, seen: Wait) -> Wait:
    """A wait for a row is known best; then what was measured; then what the stage says."""
    if its.number in of.waiting:
        return ROW_WAIT
    return seen if seen.kind else wait_of_stage(its.stage)
