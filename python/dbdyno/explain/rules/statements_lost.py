"""Prepared statements lost: a statement was sent to a session that does not have it.

Looks for: failures that report a prepared statement as unknown (26000), or as existing before it
was prepared (42P05).

Arithmetic: the transactions that failed this way, over all transactions. It is at least minor.

Source: PgBouncer's manual on pooling modes and max_prepared_statements; the PostgreSQL manual on
DISCARD and DEALLOCATE.

Wrong when: a function that the statements call removes them from the session: no script shows that.
"""

from collections.abc import Sequence

from dbdyno.analysis.protocol import POSTGRESQL
from dbdyno.explain.case import Case
from dbdyno.explain.failing import first_message, transactions_of
from dbdyno.explain.rule import SEVERITIES, NotFound, Outcome, Rule, found, severity_of
from dbdyno.formatting import count, percent
from dbdyno.model.record import FailureRecord

CODES = frozenset({"26000", "42P05"})
EMPTYING = ("discard", "deallocate")


def look(case: Case) -> Outcome:
    """Any failure of this kind counts: a session keeps what was prepared on it."""
    lost = [failure for failure in case.record.failures if failure.code in CODES]
    if not lost:
        return NotFound("no transaction failed for lack of a prepared statement")
    counts = transactions_of(case)
    failed = sum(failure.count for failure in lost)
    share = failed / max(counts.ok + counts.failed, 1)
    emptying = _emptying(case)
    return found(
        f"{count(failed)} transactions, {percent(share)} of all, failed because their session did "
        "not have a statement that had been prepared.",
        severity=max("minor", severity_of(share), key=SEVERITIES.index),
        certainty="likely" if emptying else "hint",
        evidence={"failures": {one.code: one.count for one in lost}, "emptied_by": emptying},
        seen=_seen(lost, emptying),
        why="They did none of their work, and the next use prepares the statement again: the run "
        "measures neither prepared statements nor their absence.",
        advice=_advice(emptying),
        refute="Run again with -M simple: there must be no such failure.",
    )


def _emptying(case: Case) -> list[str]:
    """Scripts that remove prepared statements themselves."""
    scripts = case.recording.plan["scripts"]
    return [one["name"] for one in scripts if any(word in one["text"].lower() for word in EMPTYING)]


def _seen(lost: Sequence[FailureRecord], emptying: Sequence[str]) -> list[str]:
    return [
        *map(first_message, lost),
        *(f"{name} contains DISCARD or DEALLOCATE." for name in emptying),
    ]


def _advice(emptying: Sequence[str]) -> list[str]:
    if emptying:
        return [
            f"Remove it from {', '.join(emptying)}, or run with -M simple or -M extended, which "
            "keep nothing in the session."
        ]
    return [
        "Behind a pooler in transaction mode, run with -M simple or -M extended, which keep "
        "nothing in the session.",
        "Or let the pooler track prepared statements: PgBouncer does from 1.21 on, with "
        "max_prepared_statements above the number of statements in the scripts.",
    ]


RULE = Rule(
    id="statements_lost",
    title="Prepared statements lost",
    look=look,
    covers=frozenset({"failed_transactions"}),
    explains_failures=True,
    protocols=frozenset({POSTGRESQL}),
)
