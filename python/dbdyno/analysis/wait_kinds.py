"""What a server's wait events mean for the time of the clients: data, a table per database.

The first line that fits says the kind. Names are compared without regard to case, because
servers change the spelling of their events from version to version and keep the words. An
event that no line knows is ``other_wait``: it is counted, and shown under its own name.
"""

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from dbdyno.analysis.protocol import MYSQL, POSTGRESQL, protocol_of

PartKind: TypeAlias = Literal[
    "cpu",  # active, waiting for nothing the server knows of, and on a processor
    "cpu_queue",  # the same, and waiting for a processor
    "lock",  # heavyweight locks: rows, transactions, relations
    "lwlock",
    "io",
    "wal",  # WAL write and sync, LWLocks of the WAL
    "client_or_network",  # asked by the engine, not being worked on by the server
    "other_wait",
    "pause",
    "idle",
    "unconnected",
]

WaitKinds: TypeAlias = tuple[tuple[str, str, PartKind], ...]
"""Lines of (type of wait, how the event begins, kind)."""

KINDS: Mapping[str, WaitKinds] = {
    POSTGRESQL: (
        ("", "", "cpu"),
        ("LWLock", "wal", "wal"),  # WALWrite, WALInsert; before 13 WALWriteLock, wal_insert
        ("IO", "wal", "wal"),  # WALSync, WALWrite; since 17 WalSync, WalWrite
        ("LWLock", "buffer_io", "io"),  # until 13: somebody else reads the page one waits for
        ("LWLock", "bufferio", "io"),
        ("IPC", "bufferio", "io"),
        ("LWLock", "aio", "io"),  # since 18: somebody else submits or completes one's reads
        # The sessions that one leads through the list of transactions, or the commit log.
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
        ("Lock", "", "lock"),  # of a row, or a table's definition
        ("Commit", "", "wal"),  # the stage of a commit; who has a processor in it is not seen so
        ("Kernel", "fsync", "wal"),
        ("Kernel", "fdatasync", "wal"),
        ("Kernel", "pread", "io"),
        ("Kernel", "pwrite", "io"),
        ("Kernel", "io_", "io"),
        ("Kernel", "futex", "lwlock"),  # a latch, most often; what it guards is not known
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
"""Databases that tell of each wait: who is active there and waits for nothing is on a processor
or in line for one. Elsewhere it may be in a wait that nobody told of."""

ACTIVE = frozenset({"active", "fastpath function call"})
"""States of a session that the server works for."""
BETWEEN: Mapping[str, PartKind] = {
    "pausing": "pause",
    "idle": "idle",
    "unconnected": "unconnected",
}
"""What a client does, by the engine's word, that has asked for nothing."""


def wait_kinds(plan: Mapping[str, Any]) -> WaitKinds:
    """The table of the database that a plan loads; none where nobody looks at its sessions."""
    return KINDS.get(protocol_of(plan), ())


def kind_of(kinds: WaitKinds, wait_type: str, wait_event: str) -> PartKind:
    """The kind of one wait of a session that is at work."""
    event = wait_event.casefold()
    fitting = (
        kind for known, begin, kind in kinds if known == wait_type and event.startswith(begin)
    )
    return next(fitting, "other_wait")


def client_kind(
    kinds: WaitKinds, *, state: str, doing: str, wait_type: str, wait_event: str
) -> PartKind | None:
    """What a client is at: by the server's word if that works for it, else by the engine's.

    None where neither word tells.
    """
    if state in ACTIVE:
        return kind_of(kinds, wait_type, wait_event)
    if doing == "asking" and state.startswith("idle"):
        return "client_or_network"
    return BETWEEN.get(doing)
