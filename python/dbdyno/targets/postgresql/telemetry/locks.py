"""One look at the locks, as far as somebody waits, and which modes exclude each other.

Told are the locks that are waited for, those held on the same things, and the rows that
waiters have marked as theirs to take next. Locks by the fast path are left out: whoever waits
for one has moved it to the common table. The queue is worked out by whoever asked: the
server's own function for that stops all locking while it looks, once a waiter.

With 500 sessions queueing for one row on PostgreSQL 15 (2500 locks, 501 of them told), on one
of two cores, a look took 1.2 ms, of which 0.2 ms on our side; all locks untold 2.0 ms.
"""

from typing import Any

import msgspec
from psycopg import Connection

from dbdyno.targets.postgresql.names import table_name
from dbdyno.targets.telemetry import Lock

# The columns from locktype on are together the locked thing.
LOOK = """
    with slow as materialized (
        select * from pg_lock_status() where not fastpath and mode <> 'SIReadLock'),
    awaited as materialized (select * from slow where not granted),
    shown as materialized (
        select * from slow
        where exists (select from awaited) and (not granted
            or locktype = 'tuple' and pid in (select pid from awaited)
            or transactionid in (select transactionid from awaited where transactionid is not null)
            or virtualxid in (select virtualxid from awaited where virtualxid is not null)
            or relation in (select relation from awaited where relation is not null)
            or objid in (select objid from awaited where objid is not null))),
    named as (
        select c.oid, {name} as name
        from pg_class c join pg_namespace n on n.oid = c.relnamespace
        where c.oid in (select relation from shown where database in (0,
            (select oid from pg_database where datname = current_database()))))
    select pid, mode, granted, coalesce(named.name, ''), {waited},
        locktype, database, relation, page, tuple, virtualxid, transactionid, classid, objid,
        objsubid
    from shown left join named on named.oid = shown.relation"""

NAME = table_name("n.nspname", "c.relname")
WAITED_SINCE = 140000
WAITED = "extract(epoch from clock_timestamp() - waitstart)::float8"

MODES = (
    "AccessShareLock",
    "RowShareLock",
    "RowExclusiveLock",
    "ShareUpdateExclusiveLock",
    "ShareLock",
    "ShareRowExclusiveLock",
    "ExclusiveLock",
    "AccessExclusiveLock",
)
# As the manual's table of conflicting lock modes has it: a row and a column for each mode.
CONFLICTS = (
    ".......X",
    "......XX",
    "....XXXX",
    "...XXXXX",
    "..XX.XXX",
    "..XXXXXX",
    ".XXXXXXX",
    "XXXXXXXX",
)
CONFLICTING = frozenset(
    (mode, other)
    for mode, row in zip(MODES, CONFLICTS, strict=True)
    for other, sign in zip(MODES, row, strict=True)
    if sign == "X"
)


def conflicts(mode: str, other: str) -> bool:
    """Whether two sessions cannot hold these on one thing at once."""
    return (mode, other) in CONFLICTING


def locks(connection: Connection) -> list[Lock]:
    """The locks that have to do with waiting; none when nobody waits."""
    waited = WAITED if connection.info.server_version >= WAITED_SINCE else "null::float8"
    query = LOOK.format(name=NAME, waited=waited)
    return _with_rows([_lock(row) for row in connection.execute(query.encode())])


def _lock(row: tuple[Any, ...]) -> Lock:
    pid, mode, granted, relation, waited_s, *thing = row
    kind, _, _, page, place, *_ = thing
    return Lock(
        pid=pid,
        kind=kind,
        thing=tuple(thing),
        mode=mode,
        granted=granted,
        relation=relation,
        row=f"({page},{place})" if kind == "tuple" else "",
        waited_s=waited_s,
    )


def _with_rows(found: list[Lock]) -> list[Lock]:
    """Who waits for a transaction to end has marked the row it wants: that is the place."""
    marked = {lock.pid: lock for lock in found if lock.kind == "tuple" and lock.granted}
    return [_at(lock, marked.get(lock.pid)) for lock in found]


def _at(lock: Lock, mark: Lock | None) -> Lock:
    if mark is None or lock.granted or lock.kind != "transactionid":
        return lock
    return msgspec.structs.replace(lock, relation=mark.relation, row=mark.row)
