"""Lock samples: InnoDB's locks if a session waits, and which lock modes conflict.

MariaDB shows the locks that are waited for and those that block them, in the same snapshot as the
transactions; MySQL shows all locks, from which these are selected. Modes are written as in MySQL:
gap locks conflict only with inserts into the gap, and locks of a record alone do not protect the
gap before it. The time waited is not reported: servers know it only to the second.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

from dbdyno.databases.mysql.telemetry.combined_query import Part
from dbdyno.databases.mysql.telemetry.names import table_name
from dbdyno.databases.telemetry import Locks

RECORD, DEFINITION = "record", "metadata"

# Session, type, mode, whether granted, table, and of a record its index, key and location.
# Its table is quoted as the session's sql_mode says: with ANSI_QUOTES in double quotes.
LOCKS_MARIADB = Part(
    (
        "t.trx_mysql_thread_id",
        "lower(l.lock_type)",
        "l.lock_mode",
        "not l.lock_id <=> t.trx_requested_lock_id",
        "replace(replace(l.lock_table, '`', ''), '\"', '')",
        "coalesce(l.lock_index, '')",
        "coalesce(l.lock_data, '')",
        "concat_ws(':', l.lock_space, l.lock_page, l.lock_rec)",
    ),
    """from information_schema.innodb_locks l
    join information_schema.innodb_trx t on t.trx_id = l.lock_trx_id""",
)
# engine_lock_id consists of the transaction, then space, page and record.
LOCKS_MYSQL = Part(
    (
        "t.processlist_id",
        "lower(l.lock_type)",
        "l.lock_mode",
        "l.lock_status = 'GRANTED'",
        "concat(l.object_schema, '.', l.object_name)",
        "coalesce(l.index_name, '')",
        "coalesce(l.lock_data, '')",
        "substring_index(substring_index(l.engine_lock_id, ':', 4), ':', -3)",
    ),
    """from performance_schema.data_locks l
    join performance_schema.threads t using (thread_id)
    where l.engine_lock_id in (
        select requesting_engine_lock_id from performance_schema.data_lock_waits
        union select blocking_engine_lock_id from performance_schema.data_lock_waits)""",
)
DEFINITIONS = Part(
    (
        "t.processlist_id",
        "m.lock_type",
        "m.lock_status = 'GRANTED'",
        "concat(m.object_schema, '.', m.object_name)",
    ),
    """from performance_schema.metadata_locks m
    join performance_schema.threads t on t.thread_id = m.owner_thread_id
    where object_type = 'TABLE' and exists (
        select 1 from performance_schema.metadata_locks w where w.lock_status = 'PENDING'
            and w.object_schema = m.object_schema and w.object_name = m.object_name)""",
)

GAP, INSERT, RECORD_ALONE = "GAP", "INSERT_INTENTION", "REC_NOT_GAP"
CHANGES = {"SHARED_WRITE", "SHARED_WRITE_LOW_PRIO"}
# What each mode excludes: first those of rows and tables, then those of metadata.
EXCLUDES = {
    "IS": {"X"},
    "IX": {"S", "X"},
    "S": {"IX", "X", "AUTO_INC"},
    "X": {"IS", "IX", "S", "X", "AUTO_INC"},
    "AUTO_INC": {"S", "X", "AUTO_INC"},
    "SHARED_READ_ONLY": CHANGES,
    "SHARED_UPGRADABLE": {"SHARED_UPGRADABLE"},
    "SHARED_NO_WRITE": {"SHARED_NO_WRITE", "SHARED_UPGRADABLE", *CHANGES},
    "SHARED_NO_READ_WRITE": {
        *("SHARED_READ", "SHARED_READ_ONLY", "SHARED_UPGRADABLE"),
        *("SHARED_NO_WRITE", "SHARED_NO_READ_WRITE", *CHANGES),
    },
}
ALL_OF_A_DEFINITION = "EXCLUSIVE"


def conflicts(mode: str, other: str) -> bool:
    """Whether a request for the other mode must wait for a lock in this mode."""
    base, *parts = mode.split(",")
    wanted, *wanted_parts = other.split(",")
    if ALL_OF_A_DEFINITION in (base, wanted):
        return True
    if wanted not in EXCLUDES.get(base, ()) and base not in EXCLUDES.get(wanted, ()):
        return False
    if INSERT in wanted_parts:
        return RECORD_ALONE not in parts and INSERT not in parts
    return GAP not in parts


def locks_of(
    database: str, rows: Sequence[Sequence[Any]], definitions: Sequence[Sequence[Any]]
) -> list[Locks]:
    """Return the locks; sessions that hold or await one alike are grouped."""
    alike: dict[_Alike, list[int]] = defaultdict(list)
    for row in rows:
        alike[_of_row(database, *row[1:])].append(int(row[0]))
    for row in definitions:
        alike[_of_definition(database, *row[1:])].append(int(row[0]))
    return [Locks(pids, *fields, waited_s=[None] * len(pids)) for fields, pids in alike.items()]


class _Alike(NamedTuple):
    """What is known of a lock besides the session."""

    kind: str
    object_key: tuple[str, ...]
    mode: str
    granted: bool
    relation: str
    row: str


def _of_row(database: str, kind: str, mode: str, granted: str, table: str, *place: str) -> _Alike:
    index, key, _ = place
    row = f"{index} ({key})" if index and key else ""
    object_key = (kind, table, *place[2:]) if kind == RECORD else (kind, table)
    is_held = bool(int(granted))
    full_mode = mode if is_held else _wanted(mode)
    return _Alike(kind, object_key, full_mode, is_held, table_name(database, table), row)


def _wanted(mode: str) -> str:
    """Return the requested mode: on MariaDB a session waits for a gap only to insert into it."""
    return f"{mode},{INSERT}" if mode.endswith(f",{GAP}") else mode


def _of_definition(database: str, mode: str, granted: str, table: str) -> _Alike:
    object_key = (DEFINITION, table)
    return _Alike(DEFINITION, object_key, mode, bool(int(granted)), table_name(database, table), "")
