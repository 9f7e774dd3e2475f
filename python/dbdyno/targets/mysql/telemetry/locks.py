"""The locks' part of a look: InnoDB's, where somebody waits, and which modes exclude each other.

MariaDB shows the locks that are waited for and those in their way, in the same moment's copy as
the transactions; MySQL shows all locks, of which these are picked. Modes are written as MySQL
does: gap locks exclude nobody but who wants to insert into the gap, and locks of a record alone
do not guard the gap before it. The time waited is not told: servers know it to the second only.
"""

from collections import defaultdict
from typing import NamedTuple

from dbdyno.targets.connection import Connection
from dbdyno.targets.mysql.telemetry.names import table_name
from dbdyno.targets.mysql.telemetry.place import Here
from dbdyno.targets.telemetry import Locks

RECORD, DEFINITION = "record", "metadata"

LOOK_MARIADB = """
    select t.trx_mysql_thread_id, lower(l.lock_type), l.lock_mode,
        not l.lock_id <=> t.trx_requested_lock_id, replace(l.lock_table, '`', ''),
        coalesce(l.lock_index, ''), coalesce(l.lock_data, ''),
        concat_ws(':', l.lock_space, l.lock_page, l.lock_rec)
    from information_schema.innodb_locks l
    join information_schema.innodb_trx t on t.trx_id = l.lock_trx_id"""

# By engine_lock_id, in which the server writes transaction and place: space, page, record.
LOOK_MYSQL = """
    select t.processlist_id, lower(l.lock_type), l.lock_mode, l.lock_status = 'GRANTED',
        concat(l.object_schema, '.', l.object_name), coalesce(l.index_name, ''),
        coalesce(l.lock_data, ''),
        substring_index(substring_index(l.engine_lock_id, ':', 4), ':', -3)
    from performance_schema.data_locks l
    join performance_schema.threads t using (thread_id)
    where l.engine_lock_id in (
        select requesting_engine_lock_id from performance_schema.data_lock_waits
        union select blocking_engine_lock_id from performance_schema.data_lock_waits)"""

METADATA = """
    select t.processlist_id, m.lock_type, m.lock_status = 'GRANTED',
        concat(m.object_schema, '.', m.object_name)
    from performance_schema.metadata_locks m
    join performance_schema.threads t on t.thread_id = m.owner_thread_id
    where object_type = 'TABLE' and exists (
        select 1 from performance_schema.metadata_locks w where w.lock_status = 'PENDING'
            and w.object_schema = m.object_schema and w.object_name = m.object_name)"""

GAP, INSERT, RECORD_ALONE = "GAP", "INSERT_INTENTION", "REC_NOT_GAP"
# What each mode excludes: those of rows and tables, then those of a table's definition.
EXCLUDES = {
    "IS": {"X"},
    "IX": {"S", "X"},
    "S": {"IX", "X", "AUTO_INC"},
    "X": {"IS", "IX", "S", "X", "AUTO_INC"},
    "AUTO_INC": {"S", "X", "AUTO_INC"},
    "SHARED_NO_WRITE": {"SHARED_WRITE"},
    "SHARED_NO_READ_WRITE": {"SHARED_READ", "SHARED_WRITE", "SHARED_NO_WRITE"},
}
ALL_OF_A_DEFINITION = "EXCLUSIVE"


def conflicts(mode: str, other: str) -> bool:
    """Whether who comes for the other must wait behind this one."""
    base, *parts = mode.split(",")
    wanted, *wanted_parts = other.split(",")
    if ALL_OF_A_DEFINITION in (base, wanted):
        return True
    if wanted not in EXCLUDES.get(base, ()) and base not in EXCLUDES.get(wanted, ()):
        return False
    if INSERT in wanted_parts:
        return RECORD_ALONE not in parts and INSERT not in parts
    return GAP not in parts


def locks(connection: Connection, place: Here) -> list[Locks]:
    """The locks that have to do with waiting, those alike together."""
    look = LOOK_MARIADB if place.is_mariadb else LOOK_MYSQL
    found = [_of_row(place.database, *row) for row in connection.execute(look).fetchall()]
    if place.has_definitions:
        rows = connection.execute(METADATA).fetchall()
        found += [_of_definition(place.database, *row) for row in rows]
    alike: dict[_Alike, list[int]] = defaultdict(list)
    for number, words in found:
        alike[words].append(number)
    return [Locks(pids, *words, [None] * len(pids)) for words, pids in alike.items()]


class _Alike(NamedTuple):
    """What is told of a lock besides whose it is."""

    kind: str
    thing: tuple[str, ...]
    mode: str
    granted: bool
    relation: str
    row: str


def _of_row(  # noqa: PLR0913, PLR0917 - the columns of a row
    database: str,
    number: int,
    kind: str,
    mode: str,
    granted: int,
    table: str,
    index: str,
    key: str,
    place: str,
) -> tuple[int, _Alike]:
    row = f"{index} ({key})" if index and key else ""
    thing = (kind, table, place) if kind == RECORD else (kind, table)
    full_mode = mode if granted else _wanted(mode)
    return number, _Alike(kind, thing, full_mode, bool(granted), table_name(database, table), row)


def _wanted(mode: str) -> str:
    """MariaDB does not say it: who waits for a gap wants to insert into it."""
    return f"{mode},{INSERT}" if mode.endswith(f",{GAP}") else mode


def _of_definition(
    database: str, number: int, mode: str, granted: int, table: str
) -> tuple[int, _Alike]:
    name = table_name(database, table)
    return number, _Alike(DEFINITION, (DEFINITION, table), mode, bool(granted), name, "")
