"""The lock queue as nodes and arcs: which to draw, in which order, and their labels.

A transaction holds its locks until it ends, so a blocker is at the same statement as the waiter or
at a later one: with the statements in order, arcs lead down.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from msgspec import Struct

from dbdyno.analysis.lock_queue import Edge, LockQueue
from dbdyno.explain.sql import in_short
from dbdyno.model.recording import Recording, rows
from dbdyno.model.telemetry import NO_STATEMENT

ARCS_MAX = 12
_SHARE_MIN = 0.02
"""Of all waiting time: rarer pairs are mostly samples that came a moment too late."""
_WAITS_MIN = 0.5
"""Of a statement's own time: behind a long queue few can wait, but these for most of their time."""
Who = tuple[str, int]
"""Whose session, and the number of its statement."""


class Node(Struct, frozen=True, kw_only=True):
    """A statement, or a session outside the load."""

    label: str
    sql: str
    waiting: float
    """Mean number of sessions that wait here, also for others than those of the arcs drawn."""
    is_root: bool
    """Sessions here wait for no lock."""


class Arc(Struct, frozen=True, kw_only=True):
    """Who waits (an index of the nodes) for whom."""

    waiter: int
    blocker: int
    client_seconds: float
    waiters_mean: float
    waited_ms: float | None
    relations: str


class Picture(Struct, frozen=True):
    """Nodes from the first statement to the last; arcs, the longest wait first."""

    nodes: list[Node]
    arcs: list[Arc]


def picture(queue: LockQueue, recording: Recording) -> Picture:
    """The longest waits, and the statements that they connect."""
    together: dict[tuple[Who, Who], list[Edge]] = defaultdict(list)
    for edge in queue.edges:
        ends = (edge.waiter_who, edge.waiter), (edge.blocker_who, edge.blocker)
        together[ends].append(edge)
    least_s = _SHARE_MIN * _seconds(queue.edges)
    kept = [one for one in together.items() if _seconds(one[1]) >= least_s]
    longest = sorted(kept, key=lambda one: -_seconds(one[1]))[:ARCS_MAX]
    seen = {who for ends, _ in longest for who in ends}
    order = sorted(seen, key=lambda who: (who[0] != "client", who[1] % 2**16, who[0]))
    place = {who: index for index, who in enumerate(order)}
    arcs = [_arc(place[waiter], place[blocker], edges) for (waiter, blocker), edges in longest]
    waiters = {ends[0] for ends, _ in longest} | _waiting_clients(queue)
    texts = _texts(recording)
    return Picture([_node(who, texts, queue, waiters) for who in order], arcs)


def _waiting_clients(queue: LockQueue) -> set[Who]:
    """Clients at statements that mostly wait for locks, however many others wait elsewhere."""
    return {
        ("client", time.statement)
        for time in queue.statements
        if time.lock_ms >= _WAITS_MIN * time.mean_ms
    }


def _seconds(edges: Sequence[Edge]) -> float:
    return sum(edge.client_seconds for edge in edges)


def _arc(waiter: int, blocker: int, edges: Sequence[Edge]) -> Arc:
    known = [(edge.waited_ms, edge.waiters_mean) for edge in edges if edge.waited_ms is not None]
    seen = sum(waiters for _, waiters in known)
    return Arc(
        waiter=waiter,
        blocker=blocker,
        client_seconds=_seconds(edges),
        waiters_mean=sum(edge.waiters_mean for edge in edges),
        waited_ms=sum(ms * waiters for ms, waiters in known) / seen if seen else None,
        relations=", ".join(dict.fromkeys(edge.relation for edge in edges if edge.relation)),
    )


def _node(who: Who, texts: Mapping[int, str], queue: LockQueue, waiters: set[Who]) -> Node:
    here = [edge.waiters_mean for edge in queue.edges if (edge.waiter_who, edge.waiter) == who]
    sql = texts.get(who[1], "")
    return Node(
        label=in_short(sql) if sql else _session_text(who),
        sql=sql,
        waiting=sum(here),
        is_root=not here or who not in waiters,
    )


def _texts(recording: Recording) -> dict[int, str]:
    return dict(rows(recording.tables["statement_texts"], ("statement", "sql")))


def _session_text(who: Who) -> str:
    name, statement = who
    if name == "client" and statement == NO_STATEMENT:
        return "between statements"
    return {"foreign": "another session", "unknown": "a session"}.get(name, name)
