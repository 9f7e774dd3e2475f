"""Triggers and checks of foreign keys take CPU time of the server.

Looks for: CPU time in the machinery of triggers and in procedural languages, in backends that serve
the load.

Arithmetic: samples of the profile in these functions, over all samples of these backends; that part
of the clients' time on a CPU, and, of their time waiting for one, the part of the CPU time in use.
What the statements within triggers cost looks like that of any other statement, so this is a lower
bound.

Source: PostgreSQL manual, *Triggers*.

Wrong when: the functions are called by the load's own statements, without a trigger.
"""

from typing import ClassVar

from dbdyno.explain.resources.server_work import WorkClaim, claim_of, work_on
from dbdyno.explain.rule import NotFound, Rule
from dbdyno.model.run import Run


class TriggerWork(WorkClaim, frozen=True, kw_only=True):
    """The machinery, without the statements within."""

    why: ClassVar[str] = "They run for each row, within the transaction, while it holds its locks."
    advice: ClassVar[list[str]] = [
        (
            "Look for triggers that could run once a statement or later, and for foreign "
            "keys that nobody needs."
        )
    ]
    refute: ClassVar[str] = (
        "Run again with the triggers disabled: throughput must rise by this part at least."
    )


def look(run: Run) -> WorkClaim | NotFound:
    """By the profile alone."""
    return claim_of(
        run,
        TriggerWork,
        "Triggers, foreign keys and procedural code",
        work_on("triggers", "procedures"),
    )


RULE = Rule(
    id="trigger_work",
    title="Triggers and foreign keys",
    look=look,
    accounts_for=frozenset({"cpu", "cpu_queue"}),
)
