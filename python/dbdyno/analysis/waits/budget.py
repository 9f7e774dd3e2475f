"""Where the clients' time went: N clients for T seconds are N·T client-seconds.

In a load whose stages have different numbers of clients, N·T is the sum over the stages: clients
that wait by plan for a later stage are left out.

    N·T = Σ transactions (client side + network + server on CPU + Σ waits by event)
          + pauses + idle + not connected

Each session sample counts for the seconds it represents, times the sessions in it. Samples of one
long wait are not independent: intervals come from a block bootstrap with blocks of one second. In
addition, lock waits are charged to what the root of their chain was doing at that instant, because
removing that removes them (lock_waits.py: how long they lasted).

A session for which the server is working counts by the state that the server reports, any other
client by what the engine reports; the kernel's CPU time splits active sessions into running and
waiting for a core. Nothing is scaled to make the sum come out: client time that no sample saw is
``not_seen``.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from dbdyno.analysis.series.planned_load import client_seconds_planned, has_client_stages
from dbdyno.analysis.waits.lock_waits import (
    LOCK,
    Place,
    Queue,
    is_at_lock_table,
    lock_waits,
    queues,
)
from dbdyno.analysis.waits.processor_split import ProcessorSplit, processor_split
from dbdyno.analysis.waits.session_samples import (
    ClientSeconds,
    SampledRows,
    SessionSamples,
    client_seconds,
    client_time_s,
    measured_s,
    measured_samples,
    sampled_rows,
)
from dbdyno.analysis.waits.wait_kinds import ACTIVE, BETWEEN, client_kind, kind_of, may_run
from dbdyno.model.database import PartKind, WaitKinds
from dbdyno.model.run import Run, once
from dbdyno.model.tables import Blocking, Waits, rows
from dbdyno.model.telemetry import NO_STATEMENT

__all__ = ["Budget", "Charge", "Part", "PartKind", "budget", "foreign_of_work", "known_budget"]

_LOAD = frozenset({"client", "unknown"})


class Part(Struct, frozen=True, kw_only=True):
    """Client-seconds of one kind; ``statement`` is −1 for those between statements."""

    statement: int
    kind: PartKind
    wait_type: str
    wait_event: str
    seconds: float
    low: float | None
    high: float | None
    """The 95 % interval; None with only a few seconds of samples."""


class Charge(Struct, frozen=True, kw_only=True):
    """Client-seconds of one statement's lock waits, by what the root of their chain was doing.

    ``root_kind`` is a kind of :class:`Part`, or ``idle_in_transaction``; ``root_who`` is
    ``client``, ``foreign``, ``unknown`` (one of these two) or a server process.
    """

    waiter: int
    root_who: str
    root: int
    root_kind: str
    root_wait: str
    seconds: float


class Budget(Struct, frozen=True, kw_only=True):
    """Client time of the measured part. ``total`` is N·T, the whole that shares refer to."""

    total: float
    samples: int
    parts: list[Part]
    charges: list[Charge]
    not_seen: float
    """Client-seconds that no sample accounts for; may be negative by sampling error."""
    knows_cpu_queue: bool
    """Whether the server's CPU time was read; if not, CPU queueing is part of the kinds sampled."""
    knows_sessions: bool
    """Whether any sample shows a client's session state, if any client waited for a reply."""
    foreign_of_work: float = 0.0
    """The part of the server's time on a CPU, or waiting for one, for sessions outside the load."""

    def share(
        self, kind: PartKind | None = None, event: str | None = None, statement: int | None = None
    ) -> float:
        """Share of client time in all parts that match."""
        fitting = (
            part.seconds
            for part in self.parts
            if kind in (None, part.kind)
            and event in (None, part.wait_event)
            and statement in (None, part.statement)
        )
        return sum(fitting) / self.total if self.total else 0.0

    def charged(self, root_kind: str, root_wait: str | None = None) -> float:
        """Like :meth:`share`, with each lock wait charged to what the client at its root was doing.

        What other sessions do while the load waits for their locks is none of its own work.
        What remains with ``lock`` are waits whose root was not sampled or was itself waiting for a
        lock: a deadlock in the making.
        """
        own = sum(
            part.seconds
            for part in self.parts
            if part.kind == root_kind and root_wait in (None, part.wait_event)
        )
        if root_kind == "lock":
            passed_on_s = sum(one.seconds for one in self.charges if one.root_kind != "lock")
            return max(own - passed_on_s, 0.0) / self.total if self.total else 0.0
        taken = sum(
            charge.seconds
            for charge in self.charges
            if charge.root_who in _LOAD
            and charge.root_kind == root_kind
            and root_wait in (None, charge.root_wait)
        )
        return (own + taken) / self.total if self.total else 0.0

    @property
    def behind_others(self) -> float:
        """Share of client time in lock waits whose chain does not end at a client."""
        roots = {charge.root_who for charge in self.charges}
        return sum(self.behind(who) for who in roots - _LOAD)

    def behind(self, who: str) -> float:
        """Share of client time in lock waits whose chain ends at this kind of session."""
        waited_s = sum(charge.seconds for charge in self.charges if charge.root_who == who)
        return waited_s / self.total if self.total else 0.0


@once
def budget(run: Run) -> Budget | None:
    """Return the client time of the run by kind; None if the sessions were not sampled."""
    samples, blocking = measured_samples(run), lock_waits(run)
    if samples is None or blocking is None or not run.plan.clients:
        return None
    seen, placed, sessions = _placed(run, samples)
    sampled_share = samples.total_s / measured_s(run)
    split = _processor_split(run, seen, placed, sessions, sampled_share)
    seen_as = client_seconds(samples, sessions, placed)
    parts = _parts(_without_later_stages(run, samples, seen_as), split)
    whole = client_time_s(run)
    return Budget(
        total=whole,
        samples=len(samples.time_s),
        parts=parts,
        charges=_charges(blocking, set(seen), run.database.wait_kinds, split),
        not_seen=whole - sum(part.seconds for part in parts),
        knows_cpu_queue=split.is_known,
        knows_sessions=_knows_sessions(seen),
        foreign_of_work=_foreign_of_work(seen, placed, sessions),
    )


def known_budget(run: Run) -> Budget | None:
    """The same; None also if no sample shows what the clients' sessions did."""
    spent = budget(run)
    return spent if spent and spent.knows_sessions else None


def _without_later_stages(
    run: Run, samples: SessionSamples, seen_as: Mapping["_Place", ClientSeconds]
) -> Mapping["_Place", ClientSeconds]:
    """Without clients that wait for a later stage, or whose stage is over.

    These are idle ones, or with -C those without a connection.
    """
    if not has_client_stages(run.plan):
        return seen_as
    begins_s = samples.time_s - samples.seconds
    planned = client_seconds_planned(run.plan, begins_s, samples.time_s)
    later_s = float((run.plan.clients * samples.seconds - planned).sum())
    left = dict(seen_as)
    for kind in ("idle", "unconnected"):
        place = _Place(NO_STATEMENT, kind, "", "")
        seen = left.pop(place, None)
        if seen is None:
            continue
        taken_s = min(later_s, seen.seconds)
        later_s -= taken_s
        if taken_s < seen.seconds:
            left[place] = seen.less(taken_s)
    return left


@once
def foreign_of_work(run: Run) -> float:
    """The part of the server's work for sessions outside the load; 0 if none was sampled."""
    samples = measured_samples(run)
    return _foreign_of_work(*_placed(run, samples)) if samples else 0.0


def _placed(
    run: Run, samples: SessionSamples
) -> tuple[list["_Session"], list["_Place | None"], SampledRows[Waits]]:
    """The sampled sessions, where each one's time belongs, and their client-seconds."""
    kinds = run.database.wait_kinds
    sessions = sampled_rows(samples, run.waits)
    table = sessions.table
    columns = table.who, table.statement, table.doing, table.state, table.wait_type
    seen = list(map(_Session._make, rows(*columns, table.wait_event)))
    queued = queues(sessions)
    places = {row: _place(row, kinds, queued) for row in set(seen)}
    return seen, [places[row] for row in seen], sessions


def _foreign_of_work(
    rows: list["_Session"], placed: Sequence["_Place | None"], sessions: SampledRows[Waits]
) -> float:
    """All sessions that are at work, or may be, are taken to have equal parts of the CPU.

    A client whose request is on its way may be at work: a sample hardly ever sees short statements.
    So this is too low rather than too high. It is 0 if clients connected while samples were taken,
    or behind a pooler: a session without a name may be one of theirs.
    """
    if any(row.doing == "unconnected" for row in rows) or not _knows_sessions(rows):
        return 0.0
    working: dict[bool, float] = defaultdict(float)
    for row, place, seconds in zip(rows, placed, sessions.client_seconds.tolist(), strict=True):
        is_active = may_run(row.who, row.state, row.wait_type)
        if is_active or (place and place.kind == "client_or_network"):
            working[row.who == "foreign"] += seconds
    return working[True] / sum(working.values()) if working[True] else 0.0


def _knows_sessions(rows: list["_Session"]) -> bool:
    """False behind a pooler, whose session numbers are its own, or if session states are hidden."""
    clients = [row for row in rows if row.who == "client"]
    is_any_asking = any(row.doing == "asking" for row in clients)
    return not is_any_asking or any(
        row.state in ACTIVE or row.state.startswith("idle") for row in clients
    )


class _Session(NamedTuple):
    """The columns of ``waits`` that describe what a session was doing."""

    who: str
    statement: int
    doing: str
    state: str
    wait_type: str
    wait_event: str


class _Place(NamedTuple):
    """What identifies a part."""

    statement: int
    kind: PartKind
    wait_type: str
    wait_event: str


def _processor_split(
    run: Run,
    rows: list[_Session],
    placed: list[_Place | None],
    sessions: SampledRows[Waits],
    sampled_share: float,
) -> ProcessorSplit:
    """Split CPU time: all active server processes count, as in the kernel's counters."""
    active_s = on_the_way_s = 0.0
    for row, place, seconds in zip(rows, placed, sessions.client_seconds.tolist(), strict=True):
        if may_run(row.who, row.state, row.wait_type):
            active_s += seconds
        elif place and place.kind == "client_or_network":
            on_the_way_s += seconds
    return processor_split(run, active_s, on_the_way_s, sampled_share)


def _parts(seen_as: Mapping[_Place, ClientSeconds], split: ProcessorSplit) -> list[Part]:
    """One part for each kind and event of each statement, the largest first."""
    spent: dict[_Place, list[ClientSeconds]] = defaultdict(list)
    for place, seconds in seen_as.items():
        for kind, share in split.kinds(place.kind):
            really = place if kind == place.kind else _Place(place.statement, kind, "", "")
            spent[really].append(seconds.times(share))
    parts = []
    for place, amounts in spent.items():
        # Ends of intervals are added as for fully correlated errors: never too narrow.
        low, high = (
            None if None in ends else sum(filter(None, ends))
            for ends in ([one.low for one in amounts], [one.high for one in amounts])
        )
        whole = sum(one.seconds for one in amounts)
        parts.append(Part(**place._asdict(), seconds=whole, low=low, high=high))
    return sorted(parts, key=lambda part: -part.seconds)


def _place(row: _Session, kinds: WaitKinds, queued: Mapping[Place, Queue]) -> _Place | None:
    """Where a session's time belongs; None if it is not a client's, or not known."""
    if row.who != "client":
        return None
    queue = queued.get((row.who, row.statement))
    if queue and is_at_lock_table(row.wait_event):
        return _Place(row.statement, "lock", LOCK, queue.lock)
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
    blocking: SampledRows[Blocking],
    sessions: set[_Session],
    kinds: WaitKinds,
    split: ProcessorSplit,
) -> list[Charge]:
    """The clients' lock waits by statement and root, the longest first."""
    types = {row.wait_event: row.wait_type for row in sessions}
    seconds: dict[tuple[int, _Root, str], float] = defaultdict(float)
    seen = blocking.table
    waiters = rows(seen.waiter_who, seen.waiter)
    roots = map(_Root._make, rows(seen.root_who, seen.root, seen.root_state, seen.root_wait))
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
    """What a root was doing. An idle client with a statement outstanding is on the network.

    A blocking row names the event only; its type is the one that session samples show with it.
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
