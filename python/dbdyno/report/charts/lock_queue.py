"""The lock queue as nodes and arcs: which to draw, in which order, with what labels, and where.

A transaction holds its locks until it ends, so a blocker is at the same statement as the waiter or
at a later one: with the statements in order, arcs lead down.
"""

from collections import defaultdict
from collections.abc import Sequence

from markupsafe import Markup
from msgspec import Struct

from dbdyno.analysis.waits.lock_queue import Edge, LockQueue
from dbdyno.explain.statements.statements import Statement, statements_of
from dbdyno.formatting import milliseconds, significant
from dbdyno.model.run import Run
from dbdyno.model.telemetry import NO_STATEMENT
from dbdyno.report.charts.svg import Drawing

_ROW, _TOP, _BOTTOM = 76, 24, 26
_WIDTH_MAX, _WIDTH_MIN = 13.0, 1.5
_PORT = 11  # arcs arrive this far above a dot, and leave as far below it
_LINE, _LABEL_GAP = 15, 5
_CHARACTER = 7.3  # width of a character of the code face at 12 px
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

    @classmethod
    def of(cls, who: Who, at: Statement | None, queue: LockQueue, waiters: set[Who]) -> "Node":
        """A session at its statement, if it is one of the load; it may be one of ``waiters``."""
        here = [edge.waiters_mean for edge in queue.edges if (edge.waiter_who, edge.waiter) == who]
        label = {"foreign": "another session", "unknown": "a session"}.get(who[0], who[0])
        if who == ("client", NO_STATEMENT):
            label = "between statements"
        return cls(
            label=at.sql.in_short if at else label,
            sql=at.sql.text if at else "",
            waiting=sum(here),
            is_root=not here or who not in waiters,
        )


class Arc(Struct, frozen=True, kw_only=True):
    """Who waits (an index of the nodes) for whom."""

    waiter: int
    blocker: int
    client_seconds: float
    waiters_mean: float
    waited_ms: float | None
    relations: str

    @classmethod
    def of(cls, waiter: int, blocker: int, edges: Sequence[Edge]) -> "Arc":
        """All waits of the one for the other."""
        known = [
            (edge.waited_ms, edge.waiters_mean) for edge in edges if edge.waited_ms is not None
        ]
        seen = sum(waiters for _, waiters in known)
        return cls(
            waiter=waiter,
            blocker=blocker,
            client_seconds=_seconds(edges),
            waiters_mean=sum(edge.waiters_mean for edge in edges),
            waited_ms=sum(ms * waiters for ms, waiters in known) / seen if seen else None,
            relations=", ".join(dict.fromkeys(edge.relation for edge in edges if edge.relation)),
        )


class Picture(Struct, frozen=True):
    """Nodes from the first statement to the last; arcs, the longest wait first."""

    nodes: list[Node]
    arcs: list[Arc]


def picture(queue: LockQueue, run: Run) -> Picture:
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
    arcs = [Arc.of(place[waiter], place[blocker], edges) for (waiter, blocker), edges in longest]
    # Clients at statements that mostly wait for locks, however many others wait elsewhere.
    waiting_clients = {
        ("client", time.statement)
        for time in queue.statements
        if time.lock_ms >= _WAITS_MIN * time.mean_ms
    }
    waiters = {ends[0] for ends, _ in longest} | waiting_clients
    statements = {one.number: one for one in statements_of(run)}
    nodes = [Node.of(who, statements.get(who[1]), queue, waiters) for who in order]
    return Picture(nodes, arcs)


def _seconds(edges: Sequence[Edge]) -> float:
    return sum(edge.client_seconds for edge in edges)


def draw_queue(shown: Picture, width: int) -> Markup:
    """Draw names on the left, arcs on the right of a column of dots."""
    is_wide = width > 500
    longest = max(len(node.label) for node in shown.nodes)
    dots = min(longest * _CHARACTER + 60, width * (0.5 if is_wide else 0.6))
    texts = [_arc_text(arc) if is_wide else significant(arc.waiters_mean) for arc in shown.arcs]
    reach = width - dots - _LABEL_GAP - max(map(_room, texts)) - _WIDTH_MAX / 2
    if is_wide:
        span_max = max(abs(arc.waiter - arc.blocker) for arc in shown.arcs)
        reach = min(reach, 110 + 80 * span_max)
    labels = _placed_labels(shown, texts, dots, reach)
    last = _TOP + _ROW * (len(shown.nodes) - 1)
    lowest = max(last + _BOTTOM, *(y + _LINE / 2 for _, y, _ in labels))
    drawing = Drawing(width, round(lowest))
    for arc in reversed(shown.arcs):
        _draw_arc(drawing, shown, arc, dots, reach)
    for x, y, text in labels:
        drawing.text(x, y, text, "start", "halo")
    for place, node in enumerate(shown.nodes):
        _draw_node(drawing, node, dots, _TOP + place * _ROW)
    return drawing.markup()


def _room(text: str) -> float:
    return len(text) * _CHARACTER


def _placed_labels(
    shown: Picture, texts: Sequence[str], dots: float, reach: float
) -> list[tuple[float, float, str]]:
    """Each label right of the middle of its arc, or lower if another one is there."""
    placed: list[tuple[float, float, str]] = []
    for arc, text in zip(shown.arcs, texts, strict=True):
        x = dots + _bulge(shown, arc, reach) + _stroke(shown, arc) / 2 + _LABEL_GAP
        y = _TOP + (arc.waiter + arc.blocker) / 2 * _ROW + 4
        while any(
            x < other + _room(there) and other < x + _room(text) and abs(y - at) < _LINE
            for other, at, there in placed
        ):
            y += _LINE
        placed.append((x, y, text))
    return placed


def _arc_text(arc: Arc) -> str:
    waited = "" if arc.waited_ms is None else f" · {milliseconds(arc.waited_ms)}"
    return f"{significant(arc.waiters_mean)}{waited}"


def _stroke(shown: Picture, arc: Arc) -> float:
    share = arc.client_seconds / (shown.arcs[0].client_seconds or 1)
    return max(share * _WIDTH_MAX, _WIDTH_MIN)


def _bulge(shown: Picture, arc: Arc, reach: float) -> float:
    """How far an arc extends: farther the more statements it spans, so that none hides another."""
    span_max = max(abs(one.waiter - one.blocker) for one in shown.arcs)
    return reach * (abs(arc.waiter - arc.blocker) + 0.5) / (span_max + 0.5)


def _draw_arc(drawing: Drawing, shown: Picture, arc: Arc, dots: float, reach: float) -> None:
    """Draw an arc; a wait at the same statement is a loop from below to above."""
    begin = _TOP + arc.waiter * _ROW + _PORT
    end = _TOP + arc.blocker * _ROW - _PORT
    waiter, blocker = (shown.nodes[place].label for place in (arc.waiter, arc.blocker))
    drawing.arc(
        (dots, begin),
        (dots + 10, end),
        far_x=dots + _bulge(shown, arc, reach),
        thickness=_stroke(shown, arc),
        style="arc",
        title=f"{waiter} waits for {blocker}: {_arc_text(arc)}",
    )
    drawing.path([(dots + 2, end), (dots + 11, end - 5), (dots + 11, end + 5)], "arrow")


def _draw_node(drawing: Drawing, node: Node, dots: float, y: float) -> None:
    drawing.dot(dots, y, 5, "dot root" if node.is_root else "dot")
    room = int((dots - 14) / _CHARACTER)
    label = node.label if len(node.label) <= room else node.label[: room - 1] + "…"
    drawing.text(dots - 14, y - 1, label, "end", "code", title=node.sql)
    state = "waits for no lock" if node.is_root else f"{significant(node.waiting)} waiting"
    drawing.text(dots - 14, y + 14, state, "end", "label")
