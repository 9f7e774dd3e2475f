"""Failed transactions: the requested work was not done.

Looks for: transactions that ended in an error, and for each kind of error the statement that
returned it first. Deadlocks and serialization failures have a rule of their own.

Arithmetic: the failed transactions over all that ended, from 3 % on. Where fewer than 3 %
succeeded, the load did no work: its throughput, its waits and its CPU time are those of failing,
and no rule looks for what limits it.

Source: the PostgreSQL manual, appendix on error codes; the MariaDB manual on its error codes.

Wrong when: failures are what you want to measure, as of inserts whose key may exist already.
"""

from typing import get_args

from dbdyno.analysis.budget import PartKind
from dbdyno.explain.case import Case
from dbdyno.explain.failing import (
    OUTSIDE,
    THROWN_AWAY,
    advice_against,
    first_message,
    kind_and_code,
    time_in_transactions,
    transactions_of,
)
from dbdyno.explain.rule import NOTICED, NotFound, Outcome, Rule, found, severity_of
from dbdyno.explain.sentences import and_so_on
from dbdyno.formatting import count, percent
from dbdyno.model.record import FailureRecord


def look(case: Case) -> Outcome:
    """Judged by their share; each kind is reported with its first statement."""
    counts = transactions_of(case)
    failures = sorted(_unattributed(case), key=lambda one: -one.count)
    failed = sum(one.count for one in failures)
    ended = counts.ok + counts.failed
    if failed < NOTICED * ended or not failed:
        return NotFound(f"{count(failed)} of {count(ended)} transactions failed otherwise")
    share = failed / ended
    is_all = share > 1 - NOTICED
    return found(
        f"{count(failed)} of {count(ended)} transactions failed, {percent(share)}: "
        f"{and_so_on([kind_and_code(one) for one in failures])}.",
        title="Nearly every transaction failed" if is_all else "",
        share=share * time_in_transactions(case) if is_all else None,
        share_of="client time" if is_all else "",
        severity=severity_of(share),
        certainty="sure",
        evidence={
            "failed": failed,
            "ended": ended,
            "failures": [
                {"class": one.failure_class, "code": one.code, "count": one.count}
                for one in failures
            ],
        },
        seen=[f"{count(one.count)} times {first_message(one)}" for one in failures],
        why="The load did none of its work: its throughput, waits and costs are those of failed "
        "transactions, and say nothing about a load that succeeds."
        if is_all
        else "Failed transactions did none of their work, but took time and CPU from the others.",
        advice=advice_against(failures),
        refute="Run one client for a few transactions (-c 1 -t 10): if they succeed, the clients "
        "interfere with each other; if they fail too, the script or its data is wrong.",
    )


def _unattributed(case: Case) -> list[FailureRecord]:
    return [one for one in case.record.failures if one.failure_class not in THROWN_AWAY]


RULE = Rule(
    id="failed_transactions",
    title="Transactions failed",
    look=look,
    accounts_for=frozenset(get_args(PartKind)) - {*OUTSIDE} | {"not_seen"},
    explains_failures=True,
)
