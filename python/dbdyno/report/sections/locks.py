"""The queue behind locks as a diagram: who waits for whom, how many, and how long."""

from collections.abc import Sequence
from functools import partial

from markupsafe import Markup

from dbdyno.formatting import milliseconds, significant
from dbdyno.report.content import Block, Figure, Section, Subject, Table
from dbdyno.report.plot import at_each_width
from dbdyno.report.queue import Arc, Node, Picture, picture
from dbdyno.report.svg import Drawing

_ROW, _TOP, _BOTTOM = 76, 24, 26
_WIDTH_MAX, _WIDTH_MIN = 13.0, 1.5
_PORT = 11  # arcs arrive this far above a dot, and leave as far below it
_LINE, _LABEL_GAP = 15, 5
_CHARACTER = 7.3  # width of a character of the code face at 12 px


def build(subject: Subject) -> Sequence[Block]:
    """Nothing if nobody waited for a lock."""
    queue = subject.lock_queue
    if queue is None or not queue.edges:
        return []
    shown = picture(queue, subject.recording)
    return [
        Figure(
            id="lock-queue",
            caption="Arcs lead from waiters down to their blockers. Width: total time waited. "
            "Label: mean number of waiters, and how long each had waited when sampled. Filled "
            "dot: waits for no lock itself. Pairs with less than 2 % of the waiting are left out.",
            summary=_summary(shown),
            table=_table(shown),
            svg=at_each_width(partial(_draw, shown)),
        )
    ]


def _summary(shown: Picture) -> str:
    longest = shown.arcs[0]
    waiting = sum(node.waiting for node in shown.nodes)
    waiter, blocker = (shown.nodes[place].label for place in (longest.waiter, longest.blocker))
    number = significant(waiting)
    sessions = f"{number} session" if number == "1" else f"{number} sessions"
    behind = "others like it" if longest.waiter == longest.blocker else f"“{blocker}”"
    return (
        f"On average {sessions} waited for a lock; the longest queue, "
        f"{significant(longest.waiters_mean)} sessions, was of “{waiter}” behind {behind}."
    )


def _table(shown: Picture) -> Table:
    return Table(
        caption="Waiters and blockers",
        columns=("Waiter", "Blocker", "Lock on", "Sessions", "Waited so far", "Client-seconds"),
        rows=[
            (
                shown.nodes[arc.waiter].label,
                shown.nodes[arc.blocker].label,
                arc.relations,
                significant(arc.waiters_mean),
                milliseconds(arc.waited_ms),
                significant(arc.client_seconds),
            )
            for arc in shown.arcs
        ],
        numeric=frozenset({3, 4, 5}),
        code=frozenset({0, 1}),
    )


def _draw(shown: Picture, width: int) -> Markup:
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
        apex, middle = _apex(shown, arc, dots, reach)
        x, y = apex + _stroke(shown, arc) / 2 + _LABEL_GAP, middle + 4
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


def _apex(shown: Picture, arc: Arc, dots: float, reach: float) -> tuple[float, float]:
    """The point at which an arc is farthest from the dots."""
    middle = _TOP + (arc.waiter + arc.blocker) / 2 * _ROW
    return dots + _bulge(shown, arc, reach), middle


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


SECTION = Section(id="locks", title="Lock queues", order=48, build=build)
