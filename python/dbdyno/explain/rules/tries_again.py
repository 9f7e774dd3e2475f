"""Tries that failed for other reasons than a deadlock, and were followed by another.

Looks for: tries of transactions that ended in an error and were made again, as a script for
sysbench asks for: after a lock that was not had in time, and whatever its hook lets pass. The
transaction they belong to is one, and has not failed; its response time has all of its tries.
Deadlocks and serialization failures have a rule of their own.

Arithmetic: the time of such tries over the clients' time in transactions, and their number over
that of all tries; from 3 % of either on. What they waited for is the matter of the rules on waits,
which account for that time. Where no transaction came through, nothing is graver.

Source: sysbench's manual, --mysql-ignore-errors and the hook sql_error_ignorable.

Wrong when: trying again is what is to be measured.
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
from dbdyno.explain.words import amount, and_so_on
from dbdyno.words import count, percent


def look(case: Case) -> Outcome:
    """By what they took, or how many they are."""
    again = [one for one in case.record.tried_again if one.failure_class not in THROWN_AWAY]
    again.sort(key=lambda one: -one.count)
    number, counts = sum(one.count for one in again), transactions_of(case)
    of_time = share_of_time(case, sum(one.took_s or 0.0 for one in again))
    of_tries = number / max(counts.ok + counts.failed + number, 1)
    if max(of_time, of_tries) < NOTICED:
        return NotFound(f"{count(number)} tries failed otherwise and were followed by another")
    return found(
        f"{amount(number, 'try', 'tries')} failed and had to be made again, by "
        f"{and_so_on([kind_and_code(one) for one in again])}: {percent(of_time)} of the clients' "
        "time went into them.",
        severity="minor" if counts.ok else "critical",
        certainty="sure",
        evidence={
            "tries": {one.code: one.count for one in again},
            "share_of_time": of_time,
            "share_of_tries": of_tries,
        },
        seen=[f"{count(one.count)} times {first_message(one)}" for one in again],
        why="What is tried again has not failed: it stands in the response times, of which these "
        "tries are a part, and its work was done for nothing.",
        advice=advice_against(again),
        refute="Run one client for a few transactions (-c 1 -t 10): where none is tried again, "
        "clients are in each other's way, or in that of another program.",
    )


RULE = Rule(
    id="tries_again", title="Transactions had to be tried again", look=look, tells_of_failures=True
)
