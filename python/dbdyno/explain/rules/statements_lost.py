"""Prepared statements lost: a statement was sent to a session that does not have it.

Looks for: failures that report a prepared statement as unknown (26000), or as existing before it
was prepared (42P05).

Arithmetic: the transactions that failed this way, over all transactions. It is at least minor.

Source: PgBouncer's manual on pooling modes and max_prepared_statements; the PostgreSQL manual on
DISCARD and DEALLOCATE.

Wrong when: a function that the statements call removes them from the session: no script shows that.
"""

from typing import ClassVar

from dbdyno.analysis.summarize import full_record
from dbdyno.explain.resources.failing import ended_in, first_message
from dbdyno.explain.rule import SEVERITIES, Aside, Claim, NotFound, Rule, severity_of
from dbdyno.formatting import count, percent
from dbdyno.model.record import Certainty, FailureRecord, Severity
from dbdyno.model.run import Run

CODES = frozenset({"26000", "42P05"})
EMPTYING = ("discard", "deallocate")


class StatementsLost(Claim, frozen=True, kw_only=True):
    """Transactions whose session did not have a statement that had been prepared."""

    failures: dict[str, int]
    """By code."""
    emptied_by: list[str]
    """Scripts that remove prepared statements themselves."""
    records: Aside[list[FailureRecord]]
    ended: Aside[int]
    """Transactions, failed or not."""

    @property
    def failed_share(self) -> float:
        """Of all transactions."""
        return sum(self.failures.values()) / max(self.ended, 1)

    @property
    def severity(self) -> Severity:
        return max("minor", severity_of(self.failed_share), key=SEVERITIES.index)

    @property
    def certainty(self) -> Certainty:
        return "likely" if self.emptied_by else "hint"

    @property
    def summary(self) -> str:
        return (
            f"{count(sum(self.failures.values()))} transactions, {percent(self.failed_share)} of "
            "all, failed because their session did not have a statement that had been prepared."
        )

    @property
    def seen(self) -> list[str]:
        return [
            *map(first_message, self.records),
            *(f"{name} contains DISCARD or DEALLOCATE." for name in self.emptied_by),
        ]

    why: ClassVar[str] = (
        "They did none of their work, and the next use prepares the statement again: the run "
        "measures neither prepared statements nor their absence."
    )

    @property
    def advice(self) -> list[str]:
        if self.emptied_by:
            return [
                f"Remove it from {', '.join(self.emptied_by)}, or run with -M simple or -M "
                "extended, which keep nothing in the session."
            ]
        return [
            "Behind a pooler in transaction mode, run with -M simple or -M extended, which keep "
            "nothing in the session.",
            "Or let the pooler track prepared statements: PgBouncer does from 1.21 on, with "
            "max_prepared_statements above the number of statements in the scripts.",
        ]

    refute: ClassVar[str] = "Run again with -M simple: there must be no such failure."


def look(run: Run) -> StatementsLost | NotFound:
    """Any failure of this kind counts: a session keeps what was prepared on it."""
    lost = [failure for failure in full_record(run).failures if failure.code in CODES]
    if not lost:
        return NotFound("no transaction failed for lack of a prepared statement")
    return StatementsLost(
        failures={one.code: one.count for one in lost},
        emptied_by=[
            one.name
            for one in run.plan.scripts
            if any(word in one.text.lower() for word in EMPTYING)
        ],
        records=lost,
        ended=ended_in(run),
    )


RULE = Rule(
    id="statements_lost",
    title="Prepared statements lost",
    look=look,
    explains_failures=True,
    needs=frozenset({"statement_evictions"}),
)
