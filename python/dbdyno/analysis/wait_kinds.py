"""How a server's wait events map to kinds of client time: data, one table per database.

The first line that matches gives the kind. Names are compared case-insensitively, because servers
change the spelling of their events from version to version but keep the words. An event that no
line matches is ``other_wait``: it is counted, and shown under its own name.
"""

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from dbdyno.analysis.protocol import MYSQL, POSTGRESQL, protocol_of

PartKind: TypeAlias = Literal[
    "cpu",  # active, waiting for nothing the server reports, and on a CPU
    "cpu_queue",  # the same, but waiting for a CPU
    "lock",  # heavyweight locks: rows, transactions, relations
    "lwlock",
    "io",
    "wal",  # WAL write and sync, LWLocks of the WAL
    "client_or_network",  # sent by the engine, not being processed by the server
    "other_wait",
    "pause",
    "idle",
    "unconnected",
]

WaitKinds: TypeAlias = tuple[tuple[str, str, PartKind], ...]
"""Lines of (type of wait, prefix of the event, kind)."""

KINDS: Mapping[str, WaitKinds] = {
    POSTGRESQL: (
        ("", "", "cpu"),
        ("LWLock", "wal", "wal"),  # WALWrite, WALInsert; before 13 WALWriteLock, wal_insert
        ("IO", "wal", "wal"),  # WALSync, WALWrite; since 17 WalSync, WalWrite
        ("LWLock", "buffer_io", "io"),  # until 13: another session reads the page waited for
        ("LWLock", "bufferio", "io"),
        ("IPC", "bufferio", "io"),
        ("LWLock", "aio", "io"),  # since 18: another session submits or completes this one's reads
        # Sessions that a group leader takes through the list of transactions, or the commit log.
        ("IPC", "procarraygroup", "lwlock"),
        ("IPC", "xactgroup", "lwlock"),
        ("IPC", "cloggroup", "lwlock"),
        ("Timeout", "spindelay", "lwlock"),
        ("Lock", "", "lock"),
        ("LWLock", "", "lwlock"),
        ("IO", "", "io"),
        ("Client", "", "client_or_network"),
    ),
    MYSQL: (
        ("", "", "cpu"),
        ("Lock", "", "lock"),  # on a row, or a table's definition
        ("Commit", "", "wal"),  # the stage of a commit; sessions on a CPU look the same
        ("Kernel", "fsync", "wal"),
        ("Kernel", "fdatasync", "wal"),
        ("Kernel", "pread", "io"),
        ("Kernel", "pwrite", "io"),
        ("Kernel", "io_", "io"),
        ("Kernel", "futex", "lwlock"),  # usually a latch; what it protects is not known
        ("io/file", "innodb/innodb_log_file", "wal"),
        ("io/file", "sql/binlog", "wal"),
        ("io/file", "", "io"),
        ("io/socket", "", "client_or_network"),
        ("synch/cond", "", "other_wait"),
        ("synch/mutex", "", "lwlock"),
        ("synch/rwlock", "", "lwlock"),
        ("synch/sxlock", "", "lwlock"),
        ("Client", "", "client_or_network"),
    ),
}
NAMES_ALL_WAITS = frozenset({POSTGRESQL})
"""Databases that report each wait.

A session there that is active and waits for nothing is on a CPU or waiting for one. Elsewhere it
may be in a wait that is not reported.
"""

ACTIVE = frozenset({"active", "fastpath function call"})
"""States of a session that the server is working for."""
_SESSIONS = frozenset({"client", "foreign", "unknown"})
"""Kinds of sessions; all others are the server's own processes, which may report no state."""
BETWEEN: Mapping[str, PartKind] = {
    "pausing": "pause",
    "idle": "idle",
    "unconnected": "unconnected",
}
"""What the engine reports of a client that has no request outstanding."""


def wait_kinds(plan: Mapping[str, Any]) -> WaitKinds:
    """The table of the database that a plan loads; empty if its sessions are not sampled."""
    return KINDS.get(protocol_of(plan), ())


def may_run(who: str, state: str, wait_type: str) -> bool:
    """Whether it is on a CPU or waiting for one, as far as the server reports."""
    return not wait_type and (state in ACTIVE or who not in _SESSIONS)


def kind_of(kinds: WaitKinds, wait_type: str, wait_event: str) -> PartKind:
    """The kind of one wait of a session that the server is working for."""
    event = wait_event.casefold()
    fitting = (
        kind for known, begin, kind in kinds if known == wait_type and event.startswith(begin)
    )
    return next(fitting, "other_wait")


def client_kind(
    kinds: WaitKinds, *, state: str, doing: str, wait_type: str, wait_event: str
) -> PartKind | None:
    """What a client is doing: by the server's state if it is working for it, else by the engine's.

    None if neither is known.
    """
    if state in ACTIVE:
        return kind_of(kinds, wait_type, wait_event)
    if doing == "asking" and state.startswith("idle"):
        return "client_or_network"
    return BETWEEN.get(doing)
