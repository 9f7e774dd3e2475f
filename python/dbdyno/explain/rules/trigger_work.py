"""Triggers and checks of foreign keys take CPU time of the server.

Looks for: CPU time in the machinery of triggers and in procedural languages, in backends that serve
the load.

Arithmetic: samples of the profile in these functions, and their part of what memory, the catalog
and libraries took, over all samples of these backends. The statements within triggers look like any
other in a profile: where the scripts call no procedure, and the server counts scans and row changes
in tables that none of their statements names, these are taken to need their part of the work on
rows. MariaDB and MySQL count the statements that triggers ran (Queries without Questions), which
are taken to need theirs. That part of the clients' time on a CPU, and, of their time waiting for
one, the part of the CPU time in use. Elsewhere, statements within triggers on tables that the
scripts name are not counted: there it is a lower bound.

Source: PostgreSQL manual, *Triggers*.

Wrong when: the functions are called by the load's own statements, without a trigger. Where
InnoDB's functions have no names, its checks of foreign keys look like work on rows, and are not
counted.
"""

from typing import ClassVar

from dbdyno.explain.resources.server_work import (
    AROUND_STATEMENTS,
    Served,
    WorkClaim,
    claim_of,
    share_of_work,
    with_services,
    work_on,
)
from dbdyno.explain.rule import Aside, NotFound, Rule
from dbdyno.explain.statements.hidden_statements import hidden_part, statements_within
from dbdyno.explain.statements.statements import statements_of
from dbdyno.formatting import percent
from dbdyno.model.run import Run

AT_WORK = 0.005
"""Of the CPU time for a load: with less in functions of its own, no trigger is at work."""
_CALLING = ("select", "call", "do", "execute")
"""Statements of these kinds that name no table call procedures."""


class TriggerWork(WorkClaim, frozen=True, kw_only=True):
    """The machinery, and the statements within as far as they show."""

    what: ClassVar[str] = "Triggers, foreign keys and procedural code"
    hidden_part: float
    """Of scans and row changes: in tables that no statement of the scripts names.

    Or of all statements: those that no client sent.
    """
    are_counted: Aside[bool] = False
    """Whether the server counts the statements within."""

    @property
    def counted_too(self) -> str:
        """The statements within."""
        if not self.hidden_part:
            return super().counted_too
        part = percent(self.hidden_part)
        which = (
            f"{part} of all statements were sent by no client"
            if self.are_counted
            else f"{part} of all scans and row changes were in tables that no statement of the "
            "scripts names"
        )
        return (
            f"Its own functions took {percent(self.own_share)}; the rest is for the statements "
            f"within: {which}."
        )

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
    """By the profile, and by the tables that only triggers can have reached."""
    is_meant = work_on("triggers", "procedures")
    hidden = _hidden_part(run)
    whole, most = with_services(run, is_meant)
    on_rows = 1.0 - share_of_work(run, work_on(*AROUND_STATEMENTS))
    return claim_of(
        run,
        TriggerWork,
        is_meant,
        served=Served(
            whole + hidden * max(on_rows - whole, 0.0),
            on_rows if hidden else most,
        ),
        hidden_part=hidden,
        are_counted=bool(statements_within(run)),
    )


def _hidden_part(run: Run) -> float:
    """0 for a load that calls procedures itself: they, too, use tables that it does not name."""
    written = [one.sql for one in statements_of(run)]
    calls = any(sql.verb in _CALLING and not sql.tables for sql in written)
    is_at_work = share_of_work(run, work_on("triggers", "procedures")) >= AT_WORK
    hidden = statements_within(run) or hidden_part(run)
    return hidden if is_at_work and not calls else 0.0


RULE = Rule(
    id="trigger_work",
    title="Triggers and foreign keys",
    look=look,
    accounts_for=frozenset({"cpu", "cpu_queue"}),
)
