"""Where the clients' time went: N clients for T seconds are N·T client-seconds.

    N·T = Σ transactions (client side + network + server on CPU + Σ waits by event)
          + pauses + idle + not connected

Each look at the server's sessions is worth the seconds it stands for, times the sessions it
saw. Samples of one long wait are not independent: intervals come from a bootstrap of blocks
of a second. Waits for a lock are besides charged to what the root of their chain was doing
at that instant, because removing that removes them.
"""

from typing import Literal, TypeAlias

from msgspec import Struct

from dbdyno.model.recording import Recording

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


class Part(Struct, frozen=True, kw_only=True):
    """Client-seconds of one kind; ``statement`` is −1 for those between statements."""

    statement: int
    kind: PartKind
    wait_type: str
    wait_event: str
    seconds: float
    low: float
    high: float


class Charge(Struct, frozen=True, kw_only=True):
    """Client-seconds of lock waits by what the root of their chain was doing.

    ``root_kind`` is a kind as of :class:`Part`, or ``idle_in_transaction``; ``root_who`` is
    ``client``, ``foreign`` or a process of the server.
    """

    root_who: str
    root: int
    root_kind: str
    root_wait: str
    seconds: float


class Budget(Struct, frozen=True, kw_only=True):
    """The measured part of the run. ``total`` is N·T; ``share`` of a part is of it."""

    total: float
    samples: int
    parts: list[Part]
    charges: list[Charge]
    not_seen: float
    """Client-seconds that no sample accounts for; may be negative by sampling error."""

    def share(
        self, kind: PartKind | None = None, event: str | None = None, statement: int | None = None
    ) -> float:
        """The share of the clients' time of all parts that fit."""
        raise NotImplementedError

    def charged(self, root_kind: str, root_wait: str | None = None) -> float:
        """Like :meth:`share`, with each lock wait counted where its root is."""
        raise NotImplementedError


def budget(recording: Recording) -> Budget | None:
    """None when the sessions were not looked at."""
    raise NotImplementedError
