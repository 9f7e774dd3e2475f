"""The queue behind locks as a diagram: who waits for whom, how many, and how long."""

from collections.abc import Sequence
from functools import partial

from dbdyno.analysis.waits.lock_queue import lock_queue
from dbdyno.analysis.waits.waiting_now import LockWait, waiting_now
from dbdyno.explain.statements.statements import statements_of
from dbdyno.formatting import milliseconds, significant
from dbdyno.model.run import Run
from dbdyno.model.telemetry import NO_STATEMENT
from dbdyno.report.charts.lock_queue import Picture, draw_queue, picture
from dbdyno.report.charts.plot import at_each_width
from dbdyno.report.content import Block, Figure, Section, Table

_WHO = {"foreign": "another session", "unknown": "a session"}


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


def queue_now(run: Run) -> list[str] | None:
    """Who waits for whom in the last sample, the longest queue first; None if none was taken."""
    found = waiting_now(run)
    if found is None:
        return None
    statements = {one.number: one.sql.in_short for one in statements_of(run)}

    def name(who: str, statement: int) -> str:
        if who == "client" and statement == NO_STATEMENT:
            return "between statements"
        return statements.get(statement) or _WHO.get(who, who)

    def line(wait: LockWait) -> str:
        on = f" on {wait.relation}" if wait.relation else ""
        waited = "" if wait.waited_s is None else f", {milliseconds(wait.waited_s * 1e3)} so far"
        waiter, blocker = name(*wait.waiter), name(*wait.blocker)
        return f"{significant(wait.sessions)} × {waiter} behind {blocker}{on}{waited}"

    return [line(wait) for wait in found]


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
