"""Where the clients' time went: N clients for T seconds are N·T client-seconds.

    N·T = Σ transactions (client side + network + server on CPU + Σ waits by event)
          + pauses + idle + not connected

Each sample of the server's sessions is worth the seconds it represents, times the sessions it
saw. Samples of one long wait are not independent: intervals come from a bootstrap of blocks
of a second. Waits for a lock are besides charged to what the root of their chain was doing
at that instant, because removing that removes them.

A session that the server works for counts by what the server says of it, any other client
by what the engine says; who of them had a processor says the kernel. Nothing is scaled to make
the sum come out: what no sample saw is ``not_seen``.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from msgspec import Struct

from dbdyno.analysis.processor_split import ProcessorSplit, processor_split
from dbdyno.analysis.session_samples import (
    ClientSeconds,
    SampledRows,
    client_seconds,
    measured_lock_samples,
    measured_s,
    measured_samples,
    sampled_rows,
)
from dbdyno.analysis.wait_kinds import (
    ACTIVE,
    BETWEEN,
    PartKind,
    WaitKinds,
    client_kind,
    kind_of,
    wait_kinds,
)
from dbdyno.model.recording import Recording
from dbdyno.model.telemetry import NO_STATEMENT

__all__ = ["Budget", "Charge", "Part", "PartKind", "budget"]

_CLIENTS = frozenset({"client", "foreign", "unknown"})


class Part(Struct, frozen=True, kw_only=True):
    """Client-seconds of one kind; ``statement`` is −1 for those between statements."""

    statement: int
    kind: PartKind
    wait_type: str
    wait_event: str
    seconds: float
    low: float | None
    high: float | None
    """The 95 % interval; none from a few seconds of samples."""


class Charge(Struct, frozen=True, kw_only=True):
    """Client-seconds of one statement's lock waits by what the root of their chain was doing.

    ``root_kind`` is a kind as of :class:`Part`, or ``idle_in_transaction``; ``root_who`` is
    ``client``, ``foreign``, ``unknown`` (one of these two) or a process of the server.
    """

    waiter: int
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
    """Whether the server's processor time was read; if not, the queue is in what it looked like."""
    knows_sessions: bool
    """Whether any sample knew what the session of a client was doing, if any client asked."""

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
    def behind_others(self) -> float:
        """The share of the clients' time in waits for locks whose chain ends at no client."""
        roots = {charge.root_who for charge in self.charges}
        return sum(self.behind(who) for who in roots - {"client", "unknown"})

    def behind(self, who: str) -> float:
        """The share of the clients' time in waits for locks whose chain ends at one of these."""
        waited_s = sum(charge.seconds for charge in self.charges if charge.root_who == who)
        return waited_s / self.total if self.total else 0.0

    @property
    def _passed_on_s(self) -> float:
        """Lock waits that are charged to something else than another lock wait."""
        return sum(charge.seconds for charge in self.charges if charge.root_kind != "lock")


def budget(recording: Recording) -> Budget | None:
    """None when the sessions were not sampled."""
    samples, lock_samples = measured_samples(recording), measured_lock_samples(recording)
    clients = recording.plan.get("clients")
    if samples is None or lock_samples is None or not clients:
        return None
    kinds = wait_kinds(recording.plan)
    sessions = sampled_rows(samples, recording.tables["waits"])
    rows = [_Session._make(row) for row in sessions.rows(_Session._fields)]
    places = {row: _place(row, kinds) for row in set(rows)}
    placed = [places[row] for row in rows]
    sampled_share = samples.total_s / measured_s(recording)
    split = _processor_split(recording, rows, placed, sessions, sampled_share)
    parts = _parts(client_seconds(samples, sessions, placed), split)
    whole = clients * measured_s(recording)
    return Budget(
        total=whole,
        samples=len(samples.time_s),
        parts=parts,
        charges=_charges(
            sampled_rows(lock_samples, recording.tables["blocking"]), set(rows), kinds, split
        ),
        not_seen=whole - sum(part.seconds for part in parts),
        knows_cpu_queue=split.is_known,
        knows_sessions=_knows_sessions(rows),
    )


def _knows_sessions(rows: list["_Session"]) -> bool:
    """Not behind a pooler, whose numbers for sessions are its own; nor if their state is hidden."""
    clients = [row for row in rows if row.who == "client"]
    is_any_asking = any(row.doing == "asking" for row in clients)
    return not is_any_asking or any(_tells(row.state) for row in clients)


def _tells(state: str) -> bool:
    return state in ACTIVE or state.startswith("idle")


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


def _processor_split(
    recording: Recording,
    rows: list[_Session],
    placed: list[_Place | None],
    sessions: SampledRows,
    sampled_share: float,
) -> ProcessorSplit:
    """The kernel counts for all of the server's processes, so the active are all, too."""
    active_s = on_the_way_s = 0.0
    for row, place, seconds in zip(rows, placed, sessions.client_seconds.tolist(), strict=True):
        if not row.wait_type and (row.state in ACTIVE or row.who not in _CLIENTS):
            active_s += seconds
        elif place and place.kind == "client_or_network":
            on_the_way_s += seconds
    return processor_split(recording, active_s, on_the_way_s, sampled_share)


def _parts(seen_as: Mapping[_Place, ClientSeconds], split: ProcessorSplit) -> list[Part]:
    """One part for each kind and event of each statement, the largest first."""
    spent: dict[_Place, list[ClientSeconds]] = defaultdict(list)
    for place, seconds in seen_as.items():
        for kind, share in split.kinds(place.kind):
            really = place if kind == place.kind else _Place(place.statement, kind, "", "")
            spent[really].append(seconds.times(share))
    parts = [_part(place, amounts) for place, amounts in spent.items()]
    return sorted(parts, key=lambda part: -part.seconds)


def _part(place: _Place, amounts: list[ClientSeconds]) -> Part:
    """The ends of intervals add up as if the amounts always erred together: never too narrow."""
    lows, highs = [one.low for one in amounts], [one.high for one in amounts]
    return Part(
        **place._asdict(),
        seconds=sum(one.seconds for one in amounts),
        low=None if None in lows else sum(filter(None, lows)),
        high=None if None in highs else sum(filter(None, highs)),
    )


def _place(row: _Session, kinds: WaitKinds) -> _Place | None:
    """Where a session's time belongs; None for one that is no client's, or not known."""
    if row.who != "client":
        return None
    kind = client_kind(
        kinds,
        state=row.state,
        doing=row.doing,
        wait_type=row.wait_type,
        wait_event=row.wait_event,
    )
    if kind is None:
        return None
    if kind in BETWEEN.values():
        return _Place(NO_STATEMENT, kind, "", "")
    return _Place(row.statement, kind, row.wait_type, row.wait_event)


class _Root(NamedTuple):
    """The columns of ``blocking`` that describe the end of a chain."""

    root_who: str
    root: int
    root_state: str
    root_wait: str


def _charges(
    blocking: SampledRows, sessions: set[_Session], kinds: WaitKinds, split: ProcessorSplit
) -> list[Charge]:
    """The clients' lock waits by statement and root, the longest first."""
    types = {row.wait_event: row.wait_type for row in sessions}
    seconds: dict[tuple[int, _Root, str], float] = defaultdict(float)
    waiters = blocking.rows(("waiter_who", "waiter"))
    roots = map(_Root._make, blocking.rows(_Root._fields))
    for (who, waiter), root, waited_s in zip(
        waiters, roots, blocking.client_seconds.tolist(), strict=True
    ):
        if who == "client":
            for kind, share in _root_kinds(root, types, kinds, split):
                seconds[waiter, root._replace(root_state=""), kind] += waited_s * share
    charges = [
        Charge(
            waiter=waiter,
            root_who=root.root_who,
            root=root.root,
            root_kind=kind,
            root_wait=root.root_wait,
            seconds=charged_s,
        )
        for (waiter, root, kind), charged_s in seconds.items()
    ]
    return sorted(charges, key=lambda charge: -charge.seconds)


def _root_kinds(
    root: _Root, types: Mapping[str, str], kinds: WaitKinds, split: ProcessorSplit
) -> Iterator[tuple[str, float]]:
    """What a root was doing. One of the engine's that had asked something is on the way.

    A blocking row names the event alone; its type is the one that sessions were seen with.
    """
    if root.root_state in ACTIVE:
        kind = kind_of(kinds, types.get(root.root_wait, "?"), root.root_wait)
        yield from split.kinds(kind)
    elif root.root_state.startswith("idle"):
        if root.root_who == "client" and root.root != NO_STATEMENT:
            yield from split.kinds("client_or_network")
        else:
            yield "idle_in_transaction", 1.0
    else:
        yield "other_wait", 1.0
