"""Session samples: which session runs what, and what it waits for.

The server's list of sessions is combined with InnoDB's list of transactions and, if the server
records it, with the wait in the performance schema. They are merged here and not by a join: these
tables have no indexes, and a join took four times as long with 500 sessions.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

from dbdyno.databases.mysql.telemetry.combined_query import Part
from dbdyno.databases.mysql.telemetry.stages import NONE, Wait, wait_of_stage
from dbdyno.databases.mysql.telemetry.transactions import Transactions, transactions_of
from dbdyno.databases.telemetry import Sessions

TEXT_LENGTH = 100

# Sessions of this database, and the server's own, which have no database.
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

# Waits are nested: the innermost began last. The handler's own wait is the work on a row.
WAITS = Part(
    ("thread_id", "event_id", "event_name", "operation"),
    """from performance_schema.events_waits_current
    where end_event_id is null and event_name not in ('idle', 'wait/io/table/sql/handler',
        'wait/lock/table/sql/handler', 'wait/io/socket/sql/client_connection')""",
)

IDLE = "Sleep"
ACTIVE = "active"
CLIENT = "client"
# Sessions that are not clients, by their command.
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
    """A session; ``task`` is the kernel's ID, ``thread`` the performance schema's."""

    number: str
    command: str
    stage: str
    text: str
    task: str = "0"
    thread: str = "0"


class _SessionState(NamedTuple):
    """What is known of a session besides its IDs."""

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
    """Return the sessions; those that are alike are grouped."""
    of = transactions_of(transactions)
    seen = _waits(waits)
    alike: dict[_SessionState, list[_Listed]] = defaultdict(list)
    for one in (_Listed(*row) for row in listed):
        alike[_state_of(one, of, seen.get(int(one.thread), NONE))].append(one)
    return [
        Sessions(
            pids=[int(one.number) for one in ones],
            tasks=[int(one.task) for one in ones],
            **state._asdict(),
        )
        for state, ones in alike.items()
    ]


def _waits(rows: Sequence[Sequence[Any]]) -> dict[int, Wait]:
    """Return what each thread waits for, the innermost wait."""
    begun = sorted((int(event), int(thread), *names) for thread, event, *names in rows)
    return {thread: _wait_of_event(*names) for _, thread, *names in begun}


def _wait_of_event(name: str, operation: str) -> Wait:
    """Split ``wait/io/file/innodb/innodb_log_file`` and ``sync`` into type and name."""
    _, kind, family, what = name.split("/", 3)
    return Wait(f"{kind}/{family}", f"{what} {operation}" if kind == "io" else what)


def _state_of(its: _Listed, of: Transactions, seen: Wait) -> _SessionState:
    state = _state(its.command, is_open=int(its.number) in of.open)
    wait = _wait(its, of, seen) if state == ACTIVE else NONE
    return _SessionState(OWN.get(its.command, CLIENT), state, *wait, its.text)


def _state(command: str, *, is_open: bool) -> str:
    """Return the state in the terms that all servers share."""
    if command != IDLE:
        return ACTIVE
    return "idle in transaction" if is_open else "idle"


def _wait(its: _Listed, of: Transactions, seen: Wait) -> Wait:
    """Return the wait: for a lock if there is one, else the recorded one, else that of the stage.

    In a wait for a lock, the recorded one is how the server waits.
    """
    if int(its.number) in of.waiting:
        return ROW_WAIT
    of_stage = wait_of_stage(its.stage, its.text)
    return seen if seen.kind and of_stage.kind != ROW_WAIT.kind else of_stage
