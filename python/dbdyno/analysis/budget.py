"""Where the clients' time went: N clients for T seconds are N·T client-seconds.

    N·T = Σ transactions (client side + network + server on CPU + Σ waits by event)
          + pauses + idle + not connected

Each look at the server's sessions is worth the seconds it stands for, times the sessions it
saw. Samples of one long wait are not independent: intervals come from a bootstrap of blocks
of a second. Waits for a lock are besides charged to what the root of their chain was doing
at that instant, because removing that removes them.

A session that the server works for counts by what the server says of it, any other client
by what the engine says. Nothing is scaled to make the sum come out: what no look saw is
``not_seen``.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from msgspec import Struct

from dbdyno.analysis.looks import (
    ClientSeconds,
    Looks,
    Seen,
    client_seconds,
    measured_looks,
    measured_s,
    seen,
)
from dbdyno.analysis.readings import total
from dbdyno.analysis.wait_kinds import PartKind, WaitKinds, kind_of, wait_kinds
from dbdyno.model.recording import Recording
from dbdyno.model.telemetry import NO_STATEMENT

__all__ = ["Budget", "Charge", "Part", "PartKind", "budget"]

ACTIVE = frozenset({"active", "fastpath function call"})
_CLIENTS = frozenset({"client", "foreign"})
_BETWEEN: Mapping[str, PartKind] = {
    "pausing": "pause",
    "idle": "idle",
    "unconnected": "unconnected",
}


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
    knows_cpu_queue: bool
    """Whether the server's processor time was read; if not, ``cpu`` holds the queue as well."""

    def share(
        self, kind: PartKind | None = None, event: str | None = None, statement: int | None = None
    ) -> float:
        """The share of the clients' time of all parts that fit."""
        fitting = (
            part.seconds
            for part in self.parts
            if kind in (None, part.kind)
            and event in (None, part.wait_event)
            and statement in (None, part.statement)
        )
        return sum(fitting) / self.total if self.total else 0.0

    def charged(self, root_kind: str, root_wait: str | None = None) -> float:
        """Like :meth:`share`, with each lock wait counted where its root is.

        What remains with ``lock`` are waits whose root nobody saw, or itself waits for a lock:
        a deadlock in the making.
        """
        own = sum(
            part.seconds
            for part in self.parts
            if part.kind == root_kind and root_wait in (None, part.wait_event)
        )
        if root_kind == "lock":
            return max(own - self._passed_on_s, 0.0) / self.total if self.total else 0.0
        taken = sum(
            charge.seconds
            for charge in self.charges
            if charge.root_kind == root_kind and root_wait in (None, charge.root_wait)
        )
        return (own + taken) / self.total if self.total else 0.0

    @property
    def _passed_on_s(self) -> float:
        """Lock waits that are charged to something else than another lock wait."""
        return sum(charge.seconds for charge in self.charges if charge.root_kind != "lock")


def budget(recording: Recording) -> Budget | None:
    """None when the sessions were not looked at."""
    looks = measured_looks(recording)
    clients = recording.plan.get("clients")
    if looks is None or not clients:
        return None
    kinds = wait_kinds(recording.plan)
    sessions = seen(looks, recording.tables["waits"])
    rows = [_Session._make(row) for row in sessions.rows(_Session._fields)]
    known_on_cpu = _share_on_cpu(recording, rows, sessions)
    on_cpu = 1.0 if known_on_cpu is None else known_on_cpu
    parts = list(_parts(looks, sessions, rows, kinds, on_cpu))
    whole = clients * measured_s(recording)
    return Budget(
        total=whole,
        samples=len(looks.time_s),
        parts=sorted(parts, key=lambda part: -part.seconds),
        charges=_charges(seen(looks, recording.tables["blocking"]), set(rows), kinds, on_cpu),
        not_seen=whole - sum(part.seconds for part in parts),
        knows_cpu_queue=known_on_cpu is not None,
    )


class _Session(NamedTuple):
    """The columns of ``waits`` that say what a session was at."""

    who: str
    statement: int
    doing: str
    state: str
    wait_type: str
    wait_event: str


class _Place(NamedTuple):
    """What makes a part."""

    statement: int
    kind: PartKind
    wait_type: str
    wait_event: str


def _share_on_cpu(recording: Recording, rows: list[_Session], sessions: Seen) -> float | None:
    """Of the sessions that wait for nothing, how many had a processor; None if not known.

    The processor time is that of all the server's processes, so the sessions are all, too.
    """
    used_us = [total(recording, "processes", name, "server") for name in ("user_us", "system_us")]
    runnable_s: float = sum(
        seconds
        for row, seconds in zip(rows, sessions.client_seconds.tolist(), strict=True)
        if not row.wait_type and (row.state in ACTIVE or row.who not in _CLIENTS)
    )
    if not runnable_s or None in used_us:
        return None
    return min(sum(filter(None, used_us)) / 1e6 / runnable_s, 1.0)


def _parts(
    looks: Looks, sessions: Seen, rows: list[_Session], kinds: WaitKinds, on_cpu: float
) -> Iterator[Part]:
    """One part for each kind and event of each statement."""
    places = {row: _place(row, kinds) for row in set(rows)}
    for place, spent in client_seconds(looks, sessions, [places[row] for row in rows]).items():
        for kind, share in _on_and_off_cpu(place.kind, on_cpu):
            yield _part(place, kind, spent, share)


def _place(row: _Session, kinds: WaitKinds) -> _Place | None:
    """Where a session's time belongs; None for one that is no client's, or not known."""
    if row.who != "client":
        return None
    if row.state in ACTIVE:
        kind = kind_of(kinds, row.wait_type, row.wait_event)
        return _Place(row.statement, kind, row.wait_type, row.wait_event)
    if row.doing == "asking" and row.state.startswith("idle"):
        return _Place(row.statement, "client_or_network", row.wait_type, row.wait_event)
    between = _BETWEEN.get(row.doing)
    return _Place(NO_STATEMENT, between, "", "") if between else None


def _part(place: _Place, kind: PartKind, spent: ClientSeconds, share: float) -> Part:
    return Part(
        statement=place.statement,
        kind=kind,
        wait_type=place.wait_type,
        wait_event=place.wait_event,
        seconds=spent.seconds * share,
        low=spent.low * share,
        high=spent.high * share,
    )


def _on_and_off_cpu(kind: PartKind, on_cpu: float) -> Iterator[tuple[PartKind, float]]:
    """A kind, and if it is ``cpu`` what of it is the queue, each with its share."""
    if kind != "cpu" or on_cpu == 1.0:
        yield kind, 1.0
        return
    yield "cpu", on_cpu
    yield "cpu_queue", 1.0 - on_cpu


class _Root(NamedTuple):
    """The columns of ``blocking`` that describe the end of a chain."""

    root_who: str
    root: int
    root_state: str
    root_wait: str


def _charges(
    blocking: Seen, sessions: set[_Session], kinds: WaitKinds, on_cpu: float
) -> list[Charge]:
    """The clients' lock waits by their roots, the longest first."""
    types = {row.wait_event: row.wait_type for row in sessions}
    seconds: dict[tuple[_Root, str], float] = defaultdict(float)
    waiters = blocking.rows(("waiter_who",))
    roots = map(_Root._make, blocking.rows(_Root._fields))
    for (who,), root, waited_s in zip(
        waiters, roots, blocking.client_seconds.tolist(), strict=True
    ):
        if who == "client":
            for kind, share in _root_kinds(root, types, kinds, on_cpu):
                seconds[root._replace(root_state=""), kind] += waited_s * share
    charges = [
        Charge(
            root_who=root.root_who,
            root=root.root,
            root_kind=kind,
            root_wait=root.root_wait,
            seconds=charged_s,
        )
        for (root, kind), charged_s in seconds.items()
    ]
    return sorted(charges, key=lambda charge: -charge.seconds)


def _root_kinds(
    root: _Root, types: Mapping[str, str], kinds: WaitKinds, on_cpu: float
) -> Iterator[tuple[str, float]]:
    """What a root was doing. One of the engine's that had asked something is on the way.

    A blocking row names the event alone; its type is the one that sessions were seen with.
    """
    if root.root_state in ACTIVE:
        kind = kind_of(kinds, types.get(root.root_wait, "?"), root.root_wait)
        yield from _on_and_off_cpu(kind, on_cpu)
    elif root.root_state.startswith("idle"):
        is_on_the_way = root.root_who == "client" and root.root != NO_STATEMENT
        yield "client_or_network" if is_on_the_way else "idle_in_transaction", 1.0
    else:
        yield "other_wait", 1.0
