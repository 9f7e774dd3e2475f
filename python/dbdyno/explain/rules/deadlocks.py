"""Deadlocks and serialization failures: transactions that the server rolled back.

Looks for: failures by a deadlock (40P01; 1213 of MariaDB and MySQL) or at a serializable isolation
level (40001; 1020), of transactions and of attempts that were retried, and the server's own count
of deadlocks. A run that was killed, and runs of older versions, count retries without their reason:
where no transaction failed in the end and the server counted no deadlock, they were serialization
failures; where it did not count, the reason is not known.

Arithmetic: two shares of client time, of which the larger counts. Wasted: of the time in
transactions, that of the attempts which failed, as the engine timed it. (Where retries have no
reason they have no time either: then it is the time of the transactions that failed in the end,
plus the part ρ = retries / all attempts of the time of those that succeeded, as if each attempt
took as long. A failed attempt has often waited before: then ρ is less than its part.) Blocked: a
deadlock is detected only after deadlock_timeout τ, and everyone who needs its rows waits as long;
with λ deadlocks per second one is pending for 1 − e^(−λτ) of the time, and that share of all lock
waits is attributed to them. InnoDB detects deadlocks at once: there only the wasted time counts.

Source: the PostgreSQL manual on deadlocks (Explicit Locking) and on serialization failure handling.

Wrong when: another program's transactions take part in the deadlocks: the lock order must then be
agreed with it.
"""

from collections import Counter
from collections.abc import Iterator
from typing import get_args

from msgspec import Struct

from dbdyno.analysis.budget import PartKind
from dbdyno.analysis.protocol import MYSQL
from dbdyno.analysis.time_totals import total_with_drain
from dbdyno.explain.case import Case
from dbdyno.explain.deadlock_time import deadlocks_counted_in, pending_share
from dbdyno.explain.failing import (
    DEADLOCK,
    OUTSIDE,
    SERIALIZATION,
    first_message,
    share_of_time,
    transactions_of,
)
from dbdyno.explain.rule import NotFound, Outcome, Rule, found, severity_of
from dbdyno.explain.sentences import amount, and_so_on, gain_text
from dbdyno.explain.serialization import against_conflicts
from dbdyno.explain.sql import locks_nothing, shares_rows
from dbdyno.formatting import count, percent
from dbdyno.model.record import FailureRecord
from dbdyno.model.recording import rows

KINDS = {
    DEADLOCK: ("deadlock", "deadlocks"),
    SERIALIZATION: ("serialization failure", "serialization failures"),
}
"""The engine's classes of failures, with their singular and plural names."""
_AT_ONCE = {
    True: (
        "Take each row lock at once in the strongest mode that the transaction needs: two "
        "transactions that share a row lock (LOCK IN SHARE MODE, an INSERT with a foreign key "
        "to it) and then both change the row deadlock. Change the parent first, then insert "
        "the child.",
        "Use READ COMMITTED: it takes no gap locks, and has fewer deadlocks where they are "
        "involved.",
    ),
    False: (
        "Take each row lock at once in the strongest mode that the transaction needs: two "
        "transactions that share a row lock (FOR SHARE) and then both change the row deadlock.",
        "Lower deadlock_timeout: waits for a deadlock become shorter, at the cost of more frequent "
        "checks.",
    ),
}
"""Advice for MariaDB and MySQL, and for PostgreSQL."""


class _Thrown(Struct, frozen=True, kw_only=True):
    """What the engine and the server report of transactions that were rolled back."""

    failures: list[FailureRecord]
    tried_again: list[FailureRecord]
    """Failed attempts that were retried, if the engine recorded their reason."""
    retried: int
    retries: int
    """Retried transactions and their retries, if the engine did not."""
    server_deadlocks: float | None
    thrown_away: float
    standing_still: float | None

    @property
    def reported(self) -> list[FailureRecord]:
        """All that the engine reported, retried or not."""
        return [*self.failures, *self.tried_again]

    @property
    def share(self) -> float:
        """Share of client time."""
        return max(self.thrown_away, self.standing_still or 0.0)

    @property
    def kinds(self) -> set[str]:
        """Their classes, from failures and the server's count; empty if neither shows them."""
        classes = {failure.failure_class for failure in self.reported}
        if self.server_deadlocks:
            return classes | {DEADLOCK}
        if not classes and self.server_deadlocks == 0:
            return {SERIALIZATION}
        return classes

    @property
    def are_serialization_only(self) -> bool:
        """Whether it is known that no deadlock is among them."""
        return self.kinds == {SERIALIZATION}


def look(case: Case) -> Outcome:
    """Any of them is worth a note."""
    thrown = _thrown(case)
    if not thrown.reported and not thrown.retried and not thrown.server_deadlocks:
        return NotFound("no transaction failed by a deadlock or a serialization failure")
    return found(
        f"{_counted(thrown)}{_cost(thrown)}.",
        title=f"{_kinds(thrown).capitalize()} between transactions",
        share=thrown.share,
        share_of="client time",
        severity=severity_of(thrown.share),
        certainty="likely" if thrown.reported or thrown.standing_still else "hint",
        evidence={
            "failures": {failure.code: failure.count for failure in thrown.failures},
            "tried_again": {failure.code: failure.count for failure in thrown.tried_again},
            "retried": thrown.retried,
            "retries": thrown.retries,
            "server_deadlocks": thrown.server_deadlocks,
            "thrown_away": thrown.thrown_away,
            "standing_still": thrown.standing_still,
        },
        seen=[*_seen(case, thrown)],
        why=_why(case.protocol, thrown),
        advice=_advice(case, thrown),
        # The time of retries without a reason is a lower estimate, which bounds nothing.
        gain="" if thrown.retries else gain_text(case, thrown.share),
        refute=_refute(case, thrown),
    )


def _thrown(case: Case) -> _Thrown:
    failures, tried_again = map(_of_deadlocks, (case.record.failures, case.record.tried_again))
    has_reasons = bool(case.record.tried_again)
    return _Thrown(
        failures=failures,
        tried_again=tried_again,
        retried=0 if has_reasons else transactions_of(case).retried,
        retries=0 if has_reasons else _retries(case),
        server_deadlocks=deadlocks_counted_in(case),
        thrown_away=_thrown_away(case),
        standing_still=_standing_still(case),
    )


def _of_deadlocks(failures: list[FailureRecord]) -> list[FailureRecord]:
    return [failure for failure in failures if failure.failure_class in KINDS]


def _retries(case: Case) -> int:
    """Attempts beyond the first, of all transactions that have ended."""
    return int(case.recording.tables["intervals"]["retries"].max(initial=0))


def _thrown_away(case: Case) -> float:
    """The share of client time in failed attempts."""
    failures = [*case.record.failures, *case.record.tried_again]
    if case.record.tried_again:
        return share_of_time(case, sum(one.took_s or 0.0 for one in _of_deadlocks(failures)))
    ok, failed = (total_with_drain(case.recording, table) for table in ("scripts", "failed"))
    tries = ok.count + failed.count + _retries(case)
    deadlock_share = sum(one.count for one in _of_deadlocks(failures)) / max(
        sum(one.count for one in failures), 1
    )
    return share_of_time(
        case, failed.seconds * deadlock_share + ok.seconds * _retries(case) / max(tries, 1)
    )


def _standing_still(case: Case) -> float | None:
    """The share of client time in waits for locks while a deadlock was pending."""
    return case.budget.share("lock") * pending_share(case) if case.budget else None


def _kinds(thrown: _Thrown) -> str:
    kinds = " and ".join(sorted(KINDS[kind][1] for kind in thrown.kinds))
    return kinds or " or ".join(several for _, several in KINDS.values())


def _counted(thrown: _Thrown) -> str:
    counts = Counter[str]()
    for one in thrown.reported:
        counts[one.failure_class] += one.count
    parts = [amount(number, *KINDS[kind]) for kind, number in counts.items()]
    if thrown.server_deadlocks and not thrown.reported:
        parts.append(amount(round(thrown.server_deadlocks), *KINDS[DEADLOCK]))
    if thrown.retried:
        again = amount(thrown.retries, "retry", "retries")
        parts.append(f"{again} of {amount(thrown.retried, 'transaction', 'transactions')}")
    return " and ".join(parts) + _again(thrown.failures, thrown.tried_again)


def _again(failures: list[FailureRecord], tried_again: list[FailureRecord]) -> str:
    """How many were retried, of those that are counted."""
    if not tried_again:
        return ""
    number = count(sum(one.count for one in tried_again))
    return f", {number} of them retried" if failures else ", all retried"


def _cost(thrown: _Thrown) -> str:
    """The cost as text; empty if only the server knows of them."""
    if not thrown.share:
        return ""
    return f": about {percent(thrown.share)} of client time was lost to them"


def _seen(case: Case, thrown: _Thrown) -> Iterator[str]:
    yield from map(first_message, {one.code: one for one in reversed(thrown.reported)}.values())
    yield from _lost_by_script(case, thrown)
    if thrown.server_deadlocks:
        yield f"The server counted {amount(round(thrown.server_deadlocks), *KINDS[DEADLOCK])}."
    if logged := _logged(case):
        yield f"The server's log describes {count(logged)}, with the waiters and blockers of each."
    if thrown.thrown_away:
        yield f"{percent(thrown.thrown_away)} of client time was spent in failed attempts."
    if thrown.standing_still:
        yield (
            f"{percent(thrown.standing_still)} of client time was spent in lock waits while a "
            "deadlock was pending."
        )


def _lost_by_script(case: Case, thrown: _Thrown) -> Iterator[str]:
    """How often each of several scripts was rolled back; only if nothing else failed."""
    scripts = case.record.scripts
    is_all = len(thrown.failures) == len(case.record.failures)
    if is_all and len(scripts) > 1 and any(one.failed for one in scripts):
        counts = [
            f"{one.name} {count(one.failed)} of {count(one.ok + one.failed)}" for one in scripts
        ]
        yield f"Failed transactions by script: {', '.join(counts)}."


def _logged(case: Case) -> int:
    """Deadlocks in the server's log, in the measured part."""
    log = rows(case.recording.tables["log_entries"], ("time_s", "topic"))
    end_s = case.record.duration_s or 0.0
    return sum(topic == "deadlock" and 0 < time_s <= end_s for time_s, topic in log)


def _why(protocol: str, thrown: _Thrown) -> str:
    lost = "The work of the transaction that is rolled back is wasted"
    if DEADLOCK not in thrown.kinds:
        return f"{lost}, and is repeated or missing."
    if protocol == MYSQL:
        return f"{lost}, and deadlock detection costs time at every row-lock wait."
    return (
        f"{lost}, and until the server detects the deadlock (deadlock_timeout) everyone who needs "
        "its rows waits."
    )


def _refute(case: Case, thrown: _Thrown) -> str:
    if thrown.are_serialization_only:
        return "Run again at READ COMMITTED on a test server: there must be no such failure."
    if not thrown.kinds:
        return "Run again at READ COMMITTED on a test server: those that remain are deadlocks."
    if len(names := _scripts(case)) > 1:
        return (
            f"Run {and_so_on(names)} each alone: deadlocks between them must disappear; those that "
            "remain are within one script, whose keys have no fixed order."
        )
    return (
        "Sort the keys that a transaction locks, take each lock at once in its strongest mode, and "
        "run again: there must be no deadlock."
    )


def _advice(case: Case, thrown: _Thrown) -> list[str]:
    tries_again = case.recording.plan.get("retry", {}).get("tries_max", 1) != 1
    if thrown.are_serialization_only:
        again = "Retry (--max-tries): serialization failures are expected at this isolation level."
        messages = [failure.message for failure in thrown.reported]
        return [*([] if tries_again else [again]), *against_conflicts(case.protocol, messages)]
    if not thrown.kinds:
        return [
            "Find out which they are: the server counts deadlocks (--telemetry basic), and its log "
            "reports each one.",
            "Make the transactions shorter, or touch fewer of the same rows in each.",
        ]
    names = _scripts(case)
    is_some = names and len(case.record.scripts) > 1
    where = f"in {and_so_on(names)}" if is_some else "everywhere"
    first = [
        f"Lock the same rows in the same order {where}: sort the keys, or fix an order of tables.",
        *(
            []
            if tries_again
            else ["Retry the rolled-back transaction (--max-tries); it will succeed."]
        ),
    ]
    strongest, last = _AT_ONCE[case.protocol == MYSQL]
    return [strongest, *first, last] if _share_rows(case) else [*first, strongest, last]


def _share_rows(case: Case) -> bool:
    """Whether one of these scripts takes a shared row lock: then one row is enough to deadlock."""
    scripts = {number for number, _ in _taking_part(case)}
    texts = rows(case.recording.tables["statement_texts"], ("script", "sql"))
    return any(script in scripts and shares_rows(sql) for script, sql in texts)


def _scripts(case: Case) -> list[str]:
    """The names of the scripts that may take part in deadlocks."""
    return [name for _, name in _taking_part(case)]


def _taking_part(case: Case) -> list[tuple[int, str]]:
    """Scripts that may take part in deadlocks: number and name."""
    return [
        (number, one.name)
        for number, one in enumerate(case.record.scripts)
        if one.failed or not _locks_nothing(case, number)
    ]


def _locks_nothing(case: Case, script: int) -> bool:
    """Whether this is known of each of its statements."""
    texts = rows(case.recording.tables["statement_texts"], ("script", "sql"))
    own = [sql for of, sql in texts if of == script]
    return bool(own) and all(map(locks_nothing, own))


RULE = Rule(
    id="deadlocks",
    title="Deadlocks and serialization failures",
    look=look,
    covers=frozenset({"row_lock_convoy"}),
    accounts_for=frozenset(get_args(PartKind)) - {*OUTSIDE},
    explains_failures=True,
)
