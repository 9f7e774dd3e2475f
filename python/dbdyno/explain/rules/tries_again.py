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

from typing import ClassVar

from dbdyno.analysis.summarize import full_record
from dbdyno.explain.resources.failing import (
    THROWN_AWAY,
    advice_against,
    ended_in,
    first_message,
    kind_and_code,
    share_of_time,
    transactions_of,
)
from dbdyno.explain.rule import NOTICED, Aside, Claim, NotFound, Rule
from dbdyno.explain.sentences import amount, and_so_on
from dbdyno.formatting import count, percent
from dbdyno.model.record import Certainty, FailureRecord, Severity
from dbdyno.model.run import Run


class TriesAgain(Claim, frozen=True, kw_only=True):
    """Attempts that were retried, by code, and what they are of all time and attempts."""

    tries: dict[str, int]
    share_of_time: float
    share_of_tries: float
    records: Aside[list[FailureRecord]]
    """The most frequent first."""
    has_succeeded: Aside[bool] = True
    """Whether any transaction has."""
    certainty: ClassVar[Certainty] = "sure"

    @property
    def severity(self) -> Severity:
        return "minor" if self.has_succeeded else "critical"

    @property
    def summary(self) -> str:
        number = sum(one.count for one in self.records)
        return (
            f"{amount(number, 'attempt', 'attempts')} failed and had to be retried, by "
            f"{and_so_on([kind_and_code(one) for one in self.records])}: "
            f"{percent(self.share_of_time)} of client time was spent in them."
        )

    @property
    def seen(self) -> list[str]:
        return [f"{count(one.count)} times {first_message(one)}" for one in self.records]

    why: ClassVar[str] = (
        "A retried transaction does not count as failed: its response time includes the failed "
        "attempts, whose work was wasted."
    )

    @property
    def advice(self) -> list[str]:
        return advice_against(self.records)

    refute: ClassVar[str] = (
        "Run one client for a few transactions (-c 1 -t 10): if none is retried, the clients "
        "interfere with each other or with another program."
    )


def look(run: Run) -> TriesAgain | NotFound:
    """Judged by their time, or by their number."""
    again = [one for one in full_record(run).tried_again if one.failure_class not in THROWN_AWAY]
    again.sort(key=lambda one: -one.count)
    number = sum(one.count for one in again)
    of_time = share_of_time(run, sum(one.took_s or 0.0 for one in again))
    of_tries = number / max(ended_in(run) + number, 1)
    if max(of_time, of_tries) < NOTICED:
        return NotFound(f"{count(number)} attempts failed for other reasons and were retried")
    return TriesAgain(
        tries={one.code: one.count for one in again},
        share_of_time=of_time,
        share_of_tries=of_tries,
        records=again,
        has_succeeded=bool(transactions_of(run).ok),
    )


RULE = Rule(
    id="tries_again", title="Transactions had to be retried", look=look, explains_failures=True
)
