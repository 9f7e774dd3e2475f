"""Deadlocks and serialization failures: transactions that the server threw away.

Looks for: failures by a deadlock (40P01; 1213 of MariaDB and MySQL) or at a serialization level
(40001; 1020), transactions that were tried again, and the server's own count of deadlocks. The
engine counts new tries without their reason: where no transaction failed in the end and the server
counted no deadlock, they were serialization failures; where it did not count, it is not known.

Arithmetic: two shares of the clients' time, of which the larger counts. What was thrown away:
failed tries over all transactions. What stood still: a deadlock is looked for only after
deadlock_timeout τ, and all who need its rows wait as long; with λ deadlocks a second one is
pending for 1 − e^(−λτ) of the time, and so much of all waits for locks is put down to them.
InnoDB looks at once: there only what was thrown away counts.

Source: the PostgreSQL manual on deadlocks (Explicit Locking) and on serialization failure handling.

Wrong when: another program's transactions are a part of the deadlocks: the order of locks is
then to be agreed with it.
"""

from msgspec import Struct

from dbdyno.analysis.protocol import MYSQL
from dbdyno.explain.case import Case
from dbdyno.explain.deadlock_time import DEADLOCK, deadlocks_counted_in, pending_share
from dbdyno.explain.needs import needed
from dbdyno.explain.rule import NotFound, Outcome, Rule, found, severity_of
from dbdyno.explain.words import and_so_on
from dbdyno.model.record import FailureRecord
from dbdyno.model.recording import rows
from dbdyno.words import count, percent

SERIALIZATION = "serialization"
KINDS = {DEADLOCK: "deadlocks", SERIALIZATION: "serialization failures"}
"""The engine's classes of failures, and what people call them."""


class _Thrown(Struct, frozen=True, kw_only=True):
    """What the engine and the server know of transactions that were thrown away."""

    failures: list[FailureRecord]
    transactions: int
    retried: int
    server_deadlocks: float | None
    standing_still: float | None

    @property
    def share(self) -> float:
        """Of the clients' time."""
        tries = sum(failure.count for failure in self.failures) + self.retried
        thrown = tries / self.transactions if self.transactions else 0.0
        return max(min(thrown, 1.0), self.standing_still or 0.0)

    @property
    def kinds(self) -> set[str]:
        """Which classes they are of, as failures and the server tell; empty where neither does."""
        told = {failure.failure_class for failure in self.failures}
        if self.server_deadlocks:
            return told | {DEADLOCK}
        if not told and self.server_deadlocks == 0:
            return {SERIALIZATION}
        return told

    @property
    def are_serialization_only(self) -> bool:
        """Whether it is known that no deadlock is among them."""
        return self.kinds == {SERIALIZATION}


def look(case: Case) -> Outcome:
    """Any of them is worth a note."""
    thrown = _thrown(case)
    if not thrown.failures and not thrown.retried and not thrown.server_deadlocks:
        return NotFound("no transaction failed by a deadlock or a serialization failure")
    return found(
        f"{_counted(thrown)}: about {percent(thrown.share)} of the clients' time went with them.",
        title=f"{_kinds(thrown).capitalize()} between transactions",
        share=thrown.share,
        share_of="client time",
        severity=severity_of(thrown.share),
        certainty="likely" if thrown.standing_still else "hint",
        evidence={
            "failures": {failure.code: failure.count for failure in thrown.failures},
            "retried": thrown.retried,
            "server_deadlocks": thrown.server_deadlocks,
            "standing_still": thrown.standing_still,
        },
        seen=_seen(case, thrown),
        why=_why(case.protocol, thrown),
        advice=_advice(case.protocol, thrown),
        refute=_refute(case, thrown),
    )


def _thrown(case: Case) -> _Thrown:
    counts = needed(case.record.transactions, "no transaction was counted")
    return _Thrown(
        failures=[failure for failure in case.record.failures if failure.failure_class in KINDS],
        transactions=counts.ok + counts.failed,
        retried=counts.retried,
        server_deadlocks=deadlocks_counted_in(case),
        standing_still=_standing_still(case),
    )


def _standing_still(case: Case) -> float | None:
    """The share of the clients' time in waits for locks while a deadlock was pending."""
    return case.budget.share("lock") * pending_share(case) if case.budget else None


def _kinds(thrown: _Thrown) -> str:
    told = " and ".join(sorted(KINDS[kind] for kind in thrown.kinds))
    return told or " or ".join(KINDS.values())


def _counted(thrown: _Thrown) -> str:
    parts = [f"{count(one.count)} {KINDS[one.failure_class]}" for one in thrown.failures]
    if thrown.server_deadlocks and not thrown.failures:
        parts.append(f"{count(thrown.server_deadlocks)} deadlocks")
    if thrown.retried:
        parts.append(f"{count(thrown.retried)} transactions that were tried again")
    return " and ".join(parts)


def _seen(case: Case, thrown: _Thrown) -> list[str]:
    log = rows(case.recording.tables["log_entries"], ("topic", "message"))
    said = [message for topic, message in log if topic == "deadlock" and message]
    return [
        *(f"{failure.code}: {failure.message}." for failure in thrown.failures),
        *([f"The server's log: {and_so_on(said, limit=1)}."] if said else []),
        *(
            [f"{percent(thrown.standing_still)} of the clients' time stood still behind them."]
            if thrown.standing_still
            else []
        ),
    ]


def _why(protocol: str, thrown: _Thrown) -> str:
    lost = "The work of the loser is done for nothing"
    if DEADLOCK not in thrown.kinds:
        return f"{lost}, and is done again or is missing."
    if protocol == MYSQL:
        return f"{lost}, and looking for deadlocks costs each who has to wait for a row."
    return (
        f"{lost}, and until the server looks for the deadlock (deadlock_timeout) all who need its "
        "rows stand still."
    )


def _refute(case: Case, thrown: _Thrown) -> str:
    if thrown.are_serialization_only:
        return "Run again at READ COMMITTED on a test server: there must be none."
    if not thrown.kinds:
        return "Run again at READ COMMITTED on a test server: those that remain are deadlocks."
    if len(case.recording.plan["scripts"]) > 1:
        return "Run each script alone (-f one of them): without an opposite order there is none."
    return "Sort the keys that a transaction locks and run again: there must be none."


def _advice(protocol: str, thrown: _Thrown) -> list[str]:
    if thrown.are_serialization_only:
        return [
            "Try again: --max-tries; a serialization failure is part of the bargain.",
            "Make the transactions shorter, or touch fewer of the same rows in each.",
        ]
    if not thrown.kinds:
        return [
            "Find out which they are: the server counts deadlocks (--telemetry basic), and its log "
            "tells of each.",
            "Make the transactions shorter, or touch fewer of the same rows in each.",
        ]
    said = [
        "Lock the same rows in the same order everywhere: sort the keys, or agree on tables.",
        "Let the loser try again (--max-tries); it will succeed.",
    ]
    if protocol == MYSQL:
        return [
            *said,
            "READ COMMITTED locks no gaps: where gaps are in the way, it has fewer deadlocks.",
        ]
    return [
        *said,
        "A lower deadlock_timeout shortens the standstill, at the price of more looking.",
    ]


RULE = Rule(
    id="deadlocks",
    title="Deadlocks and serialization failures",
    look=look,
    covers=frozenset({"row_lock_convoy"}),
    accounts_for=frozenset({"lock"}),
)
