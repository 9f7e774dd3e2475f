"""Lock samples, taken while a session waits, and which lock modes conflict.

They contain the locks that are waited for, those held on the same objects, and the rows that
waiters have marked as theirs to take next. Fast-path locks are left out: whoever waits for one has
moved it to the shared table. The caller computes the queue: the server's own function for that
stops all locking while it runs, once for each waiter.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from typing import NamedTuple

import msgspec

from dbdyno.databases.postgresql.names import table_name
from dbdyno.databases.telemetry import Locks

TRANSACTION = "transactionid"

# One pass over the list, which is expensive enough: sessions that hold or await one object alike
# are one row. Nearly all held locks are those of transactions on themselves, each of which would be
# a row: they share one, with the transactions beside their sessions. A prepared transaction has no
# session. Each grouping column costs a tenth of a millisecond with a thousand locks: what only rare
# kinds of locks have is in one column.
LOCKS = """
    select array_agg(coalesce(pid, 0)) as pids,
        array_agg({waited}::float4) filter (where not granted) as waited_s,
        array_agg(transactionid) filter (where granted)::text as transactions, mode, granted,
        locktype, database, relation, page, tuple,
        case when locktype <> 'transactionid' or not granted then transactionid end
            as transactionid,
        case when objid is null then virtualxid
            else concat_ws('/', classid, objid, objsubid) end as other
    from pg_lock_status()
    where {somebody_waits} and not fastpath
    group by 4, 5, 6, 7, 8, 9, 10, 11, 12"""
LOCK_FIELDS = f"""array[
        mode,
        (select {table_name("n.nspname", "c.relname")}
            from pg_class c join pg_namespace n on n.oid = c.relnamespace
            where c.oid = relation and database in (0,
                (select oid from pg_database where datname = current_database()))),
        locktype, transactionid::text, page::text, tuple::text, database::text, relation::text,
        other]"""
CONCERNED = """
    not granted or mode <> 'SIReadLock' and (locktype in ('tuple', 'transactionid')
        or relation in (select relation from lock where not granted and relation is not null)
        or other in (select other from lock where not granted and other is not null))"""

WAITED_SINCE = 140000
# The statement began slightly before it reads the locks.
WAITED = "date_part('epoch', greatest(now() - waitstart, '0'))"

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
# The manual's table of conflicting lock modes: a row and a column for each mode.
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
    """Whether two sessions cannot hold these modes on one object at the same time."""
    return (mode, other) in CONFLICTING


class LockRow(NamedTuple):
    """A row of the sample; ``fields`` are mode, relation, and the locked object, its kind first."""

    pids: list[int]
    waited_s: list[float | None] | None
    granted: bool
    transactions: str | None
    fields: list[str | None]


def locks_of(rows: Sequence[LockRow]) -> list[Locks]:
    """Return all locks involved in waiting."""
    listed, awaited, on_themselves = [], set[str](), []
    for row in rows:
        _, _, kind, transaction, *_ = row.fields
        if row.granted and kind == TRANSACTION:
            on_themselves.append(row)
        else:
            listed.append(_locks(row))
            awaited.add(transaction or "")
    held = [locks for row in on_themselves for locks in _held(row, awaited)]
    return _with_rows([*listed, *held])


def _locks(row: LockRow) -> Locks:
    mode, relation, *object_key = row.fields
    kind, _, page, place, *_ = object_key
    return Locks(
        row.pids,
        kind or "",
        tuple(object_key),
        mode or "",
        row.granted,
        relation or "",
        f"({page},{place})" if kind == "tuple" else "",
        row.waited_s or [None] * len(row.pids),
    )


def _held(row: LockRow, awaited: Set[str]) -> Iterator[Locks]:
    """Yield the awaited locks of the transactions in one row, each on itself."""
    mode, relation, kind, _, *rest = row.fields
    transactions = (row.transactions or "{}").strip("{}").split(",")
    pids = dict(zip(transactions, row.pids, strict=True))
    for transaction in awaited & pids.keys():
        fields = [mode, relation, kind, transaction, *rest]
        yield _locks(LockRow([pids[transaction]], None, True, None, fields))


def _with_rows(listed: list[Locks]) -> list[Locks]:
    """Add the row's location to waits for a transaction: the waiter has marked the row it wants.

    A waiter that has followed a row to its newest version waits for that version's transaction
    without a mark, and the location remains unknown.
    """
    marks = {pid: its for its in listed if its.granted and its.kind == "tuple" for pid in its.pids}
    return [placed for locks in listed for placed in _placed(locks, marks)]


def _placed(locks: Locks, marks: Mapping[int, Locks]) -> Iterator[Locks]:
    """Yield marked waiters singly, and the others together: hundreds may wait for the same row."""
    if locks.granted or locks.kind != TRANSACTION or marks.keys().isdisjoint(locks.pids):
        yield locks
        return
    waited_s = dict(zip(locks.pids, locks.waited_s, strict=True))
    for pid in marks.keys() & waited_s.keys():
        mark = marks[pid]
        yield msgspec.structs.replace(
            locks,
            pids=[pid],
            waited_s=[waited_s.pop(pid)],
            relation=mark.relation,
            row=mark.row,
        )
    if waited_s:
        pids, others_s = list(waited_s), list(waited_s.values())
        yield msgspec.structs.replace(locks, pids=pids, waited_s=others_s)
