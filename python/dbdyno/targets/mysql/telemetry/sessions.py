"""The sessions' part of a sample: who runs what, and who waits for what.

The server's list of sessions is put together with InnoDB's list of transactions and, where the
server keeps it, with the wait that the performance schema sees. Merged here and not by a join:
these tables have no indexes, and a join took four times as long with 500 sessions.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

from dbdyno.targets.mysql.telemetry.combined_query import Part
from dbdyno.targets.mysql.telemetry.stages import NONE, Wait, wait_of_stage
from dbdyno.targets.mysql.telemetry.transactions import Transactions, transactions_of
from dbdyno.targets.telemetry import Sessions

TEXT_LENGTH = 100

# Of this database, and the server's own, which have none.
LISTED = Part(
    ("id", "command", "coalesce(state, '')", f"coalesce(left(info, {TEXT_LENGTH}), '')"),
    """from information_schema.processlist
    where id <> connection_id() and (db = database() or db is null)""",
)
LISTED_WITH_TASKS = Part((*LISTED.columns, "tid"), LISTED.of)
LISTED_BY_SCHEMA = Part(
    (
        "processlist_id",
        "processlist_command",
        "coalesce(processlist_state, '')",
        f"coalesce(left(processlist_info, {TEXT_LENGTH}), '')",
        "coalesce(thread_os_id, 0)",
        "thread_id",
    ),
    """from performance_schema.threads
    where processlist_id <> connection_id() and type = 'FOREGROUND'
        and (processlist_db = database() or processlist_db is null)""",
)

# Waits within waits: the innermost began last. The handler's own is the work on a row.
WAITS = Part(
    ("thread_id", "event_id", "event_name", "operation"),
    """from performance_schema.events_waits_current
    where end_event_id is null and event_name not in ('idle', 'wait/io/table/sql/handler',
        'wait/lock/table/sql/handler', 'wait/io/socket/sql/client_connection')""",
)

IDLE = "Sleep"
ACTIVE = "active"
CLIENT = "client"
# Sessions that are no client's, by their command.
OWN = {
    "Daemon": "daemon",
    "Binlog Dump": "binlog dump",
    "Binlog Dump GTID": "binlog dump",
    "Slave_IO": "replica I/O",
    "Slave_SQL": "replica SQL",
    "Slave_worker": "replica worker",
}
ROW_WAIT = Wait("Lock", "record")


class _Listed(NamedTuple):
    """A session; ``task`` is the kernel's number, ``thread`` the performance schema's."""

    number: str
    command: str
    stage: str
    text: str
    task: str = "0"
    thread: str = "0"


class _Words(NamedTuple):
    """What is told of a session besides its numbers."""

    kind: str
    state: str
    wait_type: str
    wait_event: str
    text: str


def sessions_of(
    listed: Sequence[Sequence[Any]],
    transactions: Sequence[Sequence[Any]],
    waits: Sequence[Sequence[Any]],
) -> list[Sessions]:
    """Those alike together."""
    of = transactions_of(transactions)
    seen = _waits(waits)
    alike: dict[_Words, list[_Listed]] = defaultdict(list)
    for one in (_Listed(*row) for row in listed):
        alike[_words(one, of, seen.get(int(one.thread), NONE))].append(one)
    return [
        Sessions(
            pids=[int(one.number) for one in ones],
            tasks=[int(one.task) for one in ones],
            **words._asdict(),
        )
        for words, ones in alike.items()
    ]


def _waits(rows: Sequence[Sequence[Any]]) -> dict[int, Wait]:
    """What each thread waits for at this moment."""
    begun = sorted((int(event), int(thread), *names) for thread, event, *names in rows)
    return {thread: _wait_of_event(*names) for _, thread, *names in begun}


def _wait_of_event(name: str, operation: str) -> Wait:
    """``wait/io/file/innodb/innodb_log_file`` and ``sync``: as its kind and its name."""
    _, kind, family, what = name.split("/", 3)
    return Wait(f"{kind}/{family}", f"{what} {operation}" if kind == "io" else what)


def _words(its: _Listed, of: Transactions, seen: Wait) -> _Words:
    state = _state(its.command, is_open=int(its.number) in of.open)
    wait = _wait(its, of, seen) if state == ACTIVE else NONE
    return _Words(OWN.get(its.command, CLIENT), state, *wait, its.text)


def _state(command: str, *, is_open: bool) -> str:
    """In the words that all servers share."""
    if command != IDLE:
        return ACTIVE
    return "idle in transaction" if is_open else "idle"


def _wait(its: _Listed, of: Transactions, seen: Wait) -> Wait:
    """A wait for a row is known best; then what was measured; then what the stage says."""
    if int(its.number) in of.waiting:
        return ROW_WAIT
    return seen if seen.kind else wait_of_stage(its.stage, its.text)
