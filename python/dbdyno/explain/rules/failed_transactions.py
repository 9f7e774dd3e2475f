"""Failed transactions: the requested work was not done.

Looks for: transactions that ended in an error, and for each kind of error the statement that
returned it first. Deadlocks and serialization failures have a rule of their own.

Arithmetic: the failed transactions over all that ended, from 3 % on. Where fewer than 3 %
succeeded, the load did no work: its throughput, its waits and its CPU time are those of failing,
and no rule looks for what limits it.

Source: the PostgreSQL manual, appendix on error codes; the MariaDB manual on its error codes.

Wrong when: failures are what you want to measure, as of inserts whose key may exist already.
"""

from typing import ClassVar, get_args

from msgspec import Struct

from dbdyno.analysis.summarize import full_record
from dbdyno.explain.resources.failing import (
    OUTSIDE,
    THROWN_AWAY,
    advice_against,
    ended_in,
    first_message,
    kind_and_code,
    time_in_transactions,
)
from dbdyno.explain.rule import NOTICED, Aside, Claim, NotFound, Rule, severity_of
from dbdyno.explain.sentences import and_so_on
from dbdyno.formatting import count, percent
from dbdyno.model.database import PartKind
from dbdyno.model.record import Certainty, FailureRecord, Severity
from dbdyno.model.run import Run


class ClassCount(Struct, frozen=True, rename={"failure_class": "class"}):
    """How many failed with one code of the server."""

    failure_class: str
    code: str
    count: int


class FailedTransactions(Claim, frozen=True, kw_only=True):
    """Transactions that failed, of those that ended; a share is claimed if nearly all did."""

    failed: int
    ended: int
    failures: list[ClassCount]
    """The most frequent first."""
    records: Aside[list[FailureRecord]]
    certainty: ClassVar[Certainty] = "sure"

    @property
    def are_nearly_all(self) -> bool:
        """Whether the load did none of its work."""
        return self.failed / self.ended > 1 - NOTICED

    @property
    def title(self) -> str:
        return "Nearly every transaction failed" if self.are_nearly_all else ""

    @property
    def severity(self) -> Severity:
        return severity_of(self.failed / self.ended)

    @property
    def summary(self) -> str:
        return (
            f"{count(self.failed)} of {count(self.ended)} transactions failed, "
            f"{percent(self.failed / self.ended)}: "
            f"{and_so_on([kind_and_code(one) for one in self.records])}."
        )

    @property
    def seen(self) -> list[str]:
        return [f"{count(one.count)} times {first_message(one)}" for one in self.records]

    @property
    def why(self) -> str:
        if self.are_nearly_all:
            return (
                "The load did none of its work: its throughput, waits and costs are those of "
                "failed transactions, and say nothing about a load that succeeds."
            )
        return "Failed transactions did none of their work, but took time and CPU from the others."

    @property
    def advice(self) -> list[str]:
        return advice_against(self.records)

    refute: ClassVar[str] = (
        "Run one client for a few transactions (-c 1 -t 10): if they succeed, the clients "
        "interfere with each other; if they fail too, the script or its data is wrong."
    )


def look(run: Run) -> FailedTransactions | NotFound:
    """Judged by their share; each kind is reported with its first statement."""
    records = sorted(_unattributed(run), key=lambda one: -one.count)
    failed = sum(one.count for one in records)
    ended = ended_in(run)
    if failed < NOTICED * ended or not failed:
        return NotFound(f"{count(failed)} of {count(ended)} transactions failed otherwise")
    share = failed / ended
    return FailedTransactions(
        share=share * time_in_transactions(run) if share > 1 - NOTICED else None,
        failed=failed,
        ended=ended,
        failures=[ClassCount(one.failure_class, one.code, one.count) for one in records],
        records=records,
    )


def _unattributed(run: Run) -> list[FailureRecord]:
    return [one for one in full_record(run).failures if one.failure_class not in THROWN_AWAY]


RULE = Rule(
    id="failed_transactions",
    title="Transactions failed",
    look=look,
    accounts_for=frozenset(get_args(PartKind)) - {*OUTSIDE} | {"not_seen"},
    explains_failures=True,
)
