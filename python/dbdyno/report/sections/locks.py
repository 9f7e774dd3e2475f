"""The queue behind locks as a diagram: who waits for whom, how many, and how long."""

from collections.abc import Sequence
from functools import partial

from dbdyno.analysis.waits.lock_queue import lock_queue
from dbdyno.formatting import milliseconds, significant
from dbdyno.model.run import Run
from dbdyno.report.charts.lock_queue import Picture, draw_queue, picture
from dbdyno.report.charts.plot import at_each_width
from dbdyno.report.content import Block, Figure, Section, Table


def build(run: Run) -> Sequence[Block]:
    """Nothing if nobody waited for a lock."""
    queue = lock_queue(run)
    if queue is None or not queue.edges:
        return []
    shown = picture(queue, run)
    return [
        Figure(
            id="lock-queue",
            caption="Arcs lead from waiters down to their blockers. Width: total time waited. "
            "Label: mean number of waiters, and how long each had waited when sampled. Filled "
            "dot: waits for no lock itself. Pairs with less than 2 % of the waiting are left out.",
            summary=_summary(shown),
            table=Table(
                caption="Waiters and blockers",
                columns=(
                    "Waiter",
                    "Blocker",
                    "Lock on",
                    "Sessions",
                    "Waited so far",
                    "Client-seconds",
                ),
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
            ),
            svg=at_each_width(partial(draw_queue, shown)),
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


SECTION = Section(id="locks", title="Lock queues", build=build)
