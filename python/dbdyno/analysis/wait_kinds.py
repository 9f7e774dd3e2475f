"""What a server's wait events mean for the time of the clients: data, a table per database.

The first line that fits says the kind. Names are compared without regard to case, because
servers change the spelling of their events from version to version and keep the words. An
event that no line knows is ``other_wait``: it is counted, and shown under its own name.
"""

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

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
    "postgresql": (
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
}


def wait_kinds(plan: Mapping[str, Any]) -> WaitKinds:
    """The table of the database that a plan loads."""
    return KINDS[plan.get("endpoint", {}).get("protocol", "postgresql")]


def kind_of(kinds: WaitKinds, wait_type: str, wait_event: str) -> PartKind:
    """The kind of one wait of a session that is at work."""
    event = wait_event.casefold()
    fitting = (
        kind for known, begin, kind in kinds if known == wait_type and event.startswith(begin)
    )
    return next(fitting, "other_wait")
