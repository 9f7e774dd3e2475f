"""Attempts that failed for reasons other than a deadlock, and were retried.

Looks for: attempts of transactions that ended in an error and were repeated, as a sysbench script
requests: after a lock timeout, and for whatever errors its hook ignores. The transaction they
belong to counts once, and has not failed; its response time includes all of its attempts. Deadlocks
and serialization failures have a rule of their own.

Arithmetic: the time of such attempts over client time in transactions, and their number over that
of all attempts; from 3 % of either on. What they waited for is covered by the rules on waits, which
account for that time. The finding is minor; it is critical where no transaction succeeded.

Source: sysbench's manual, --mysql-ignore-errors and the hook sql_error_ignorable.

Wrong when: retrying is what you want to measure.
"""

from dbdyno.explain.case import Case
from dbdyno.explain.failing import (
    THROWN_AWAY,
    advice_against,
    first_message,
    kind_and_code,
    share_of_time,
    transactions_of,
)
from dbdyno.explain.rule import NOTICED, NotFound, Outcome, Rule, found
from dbdyno.explain.sentences import amount, and_so_on
from dbdyno.formatting import count, percent


def look(case: Case) -> Outcome:
    """Judged by their time, or by their number."""
    again = [one for one in case.record.tried_again if one.failure_class not in THROWN_AWAY]
    again.sort(key=lambda one: -one.count)
    number, counts = sum(one.count for one in again), transactions_of(case)
    of_time = share_of_time(case, sum(one.took_s or 0.0 for one in again))
    of_tries = number / max(counts.ok + counts.failed + number, 1)
    if max(of_time, of_tries) < NOTICED:
        return NotFound(f"{count(number)} attempts failed for other reasons and were retried")
    return found(
        f"{amount(number, 'attempt', 'attempts')} failed and had to be retried, by "
        f"{and_so_on([kind_and_code(one) for one in again])}: {percent(of_time)} of client time "
        "was spent in them.",
        severity="minor" if counts.ok else "critical",
        certainty="sure",
        evidence={
            "tries": {one.code: one.count for one in again},
            "share_of_time": of_time,
            "share_of_tries": of_tries,
        },
        seen=[f"{count(one.count)} times {first_message(one)}" for one in again],
        why="A retried transaction does not count as failed: its response time includes the failed "
        "attempts, whose work was wasted.",
        advice=advice_against(again),
        refute="Run one client for a few transactions (-c 1 -t 10): if none is retried, the "
        "clients interfere with each other or with another program.",
    )


RULE = Rule(
    id="tries_again", title="Transactions had to be retried", look=look, explains_failures=True
)
