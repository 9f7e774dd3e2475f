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
from collections.abc import Sequence
from typing import get_args

from msgspec import Struct

from dbdyno.analysis.series.totals import total_with_drain
from dbdyno.analysis.summarize import full_record
from dbdyno.analysis.waits.budget import known_budget
from dbdyno.explain.gains import LimitClaim, gains_in
from dbdyno.explain.locks.deadlock_time import deadlocks_counted_in, pending_share
from dbdyno.explain.locks.serialization import against_conflicts
from dbdyno.explain.needs import needed
from dbdyno.explain.resources.failing import (
    DEADLOCK,
    OUTSIDE,
    SERIALIZATION,
    first_message,
    share_of_time,
    transactions_of,
)
from dbdyno.explain.rule import Aside, NotFound, Rule
from dbdyno.explain.sentences import amount, and_so_on
from dbdyno.explain.statements.statements import statements_of
from dbdyno.formatting import count, percent
from dbdyno.model.database import Database, PartKind
from dbdyno.model.plan import IsolationLevel
from dbdyno.model.record import Certainty, FailureRecord
from dbdyno.model.run import Run
from dbdyno.model.tables import rows

KINDS = {
    DEADLOCK: ("deadlock", "deadlocks"),
    SERIALIZATION: ("serialization failure", "serialization failures"),
}
"""The engine's classes of failures, with their singular and plural names."""
_AT_ONCE = (
    "Take each row lock at once in the strongest mode that the transaction needs: two "
    "transactions that share a row lock{how} and then both change the row deadlock."
)
_WITH_PARENTS = (
    " (LOCK IN SHARE MODE, an INSERT with a foreign key to it)",
    " Change the parent first, then insert the child.",
)


class ScriptCount(Struct, frozen=True):
    """How many of a script's transactions failed, of those that ended."""

    name: str
    failed: int
    ended: int


class Deadlocks(LimitClaim, frozen=True, kw_only=True):
    """What the engine and the server report of transactions that were rolled back."""

    failures: dict[str, int]
    """By code."""
    tried_again: dict[str, int]
    """Failed attempts that were retried, if the engine recorded their reason."""
    retried: int
    retries: int
    """Retried transactions and their retries, if the engine did not."""
    server_deadlocks: float | None
    thrown_away: float
    standing_still: float | None
    failed: Aside[Sequence[FailureRecord]] = ()
    again: Aside[Sequence[FailureRecord]] = ()
    logged: Aside[int] = 0
    """Deadlocks that the server's log describes."""
    scripts: Aside[Sequence[str]] = ()
    """The names of those that may take part in deadlocks."""
    are_some_scripts: Aside[bool] = False
    """Whether the run had others."""
    failed_by_script: Aside[Sequence[ScriptCount]] = ()
    """Of several scripts, if nothing else failed."""
    share_rows: Aside[bool] = False
    """Whether one of them takes a shared row lock: then one row is enough to deadlock."""
    tries_again: Aside[bool] = False
    """Whether the run was to retry."""
    database: Aside[Database]

    @property
    def reported(self) -> list[FailureRecord]:
        """All that the engine reported, retried or not."""
        return [*self.failed, *self.again]

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
    def title(self) -> str:
        kinds = " and ".join(sorted(KINDS[kind][1] for kind in self.kinds))
        either = " or ".join(several for _, several in KINDS.values())
        return f"{(kinds or either).capitalize()} between transactions"

    @property
    def summary(self) -> str:
        """The cost is not known if only the server knows of them."""
        counts = Counter[str]()
        for one in self.reported:
            counts[one.failure_class] += one.count
        parts = [amount(number, *KINDS[kind]) for kind, number in counts.items()]
        if self.server_deadlocks and not self.reported:
            parts.append(amount(round(self.server_deadlocks), *KINDS[DEADLOCK]))
        if self.retried:
            retries = amount(self.retries, "retry", "retries")
            parts.append(f"{retries} of {amount(self.retried, 'transaction', 'transactions')}")
        again = ""
        if self.again:
            number = count(sum(one.count for one in self.again))
            again = f", {number} of them retried" if self.failed else ", all retried"
        cost = f": about {percent(self.share or 0.0)} of client time was lost to them"
        return f"{' and '.join(parts)}{again}{cost if self.share else ''}."

    @property
    def certainty(self) -> Certainty:
        return "likely" if self.reported or self.standing_still else "hint"

    @property
    def seen(self) -> list[str]:
        first = {one.code: one for one in reversed(self.reported)}.values()
        lines = [first_message(one) for one in first]
        if self.failed_by_script:
            counts = [
                f"{one.name} {count(one.failed)} of {count(one.ended)}"
                for one in self.failed_by_script
            ]
            lines.append(f"Failed transactions by script: {', '.join(counts)}.")
        again = Counter[str]()
        for one in self.again:
            again.update(one.by_script)
        if len(again) > 1:
            counts = [f"{name} {count(number)}" for name, number in again.most_common()]
            lines.append(f"Retried attempts by script: {', '.join(counts)}.")
        if self.server_deadlocks:
            lines.append(
                f"The server counted {amount(round(self.server_deadlocks), *KINDS[DEADLOCK])}."
            )
        if self.logged:
            lines.append(
                f"The server's log describes {count(self.logged)}, with the waiters and blockers "
                "of each."
            )
        if self.thrown_away:
            lines.append(
                f"{percent(self.thrown_away)} of client time was spent in failed attempts."
            )
        if self.standing_still:
            lines.append(
                f"{percent(self.standing_still)} of client time was spent in lock waits while a "
                "deadlock was pending."
            )
        return lines

    @property
    def why(self) -> str:
        lost = "The work of the transaction that is rolled back is wasted"
        if DEADLOCK not in self.kinds:
            return f"{lost}, and is repeated or missing."
        if self.database.has("deadlock_timeout"):
            return (
                f"{lost}, and until the server detects the deadlock (deadlock_timeout) everyone "
                "who needs its rows waits."
            )
        if self.database.has("innodb"):
            return f"{lost}, and deadlock detection costs time at every row-lock wait."
        return f"{lost}, and until the server detects the deadlock whoever needs its rows waits."

    @property
    def advice(self) -> list[str]:
        if self.kinds == {SERIALIZATION}:
            again = (
                "Retry (--max-tries): serialization failures are expected at this isolation level."
            )
            messages = [failure.message for failure in self.reported]
            against = against_conflicts(self.database, messages)
            return against if self.tries_again else [again, *against]
        if not self.kinds:
            return [
                "Find out which they are: the server counts deadlocks (--telemetry basic), and its "
                "log reports each one.",
                "Make the transactions shorter, or touch fewer of the same rows in each.",
            ]
        where = f"in {and_so_on(self.scripts)}" if self.are_some_scripts else "everywhere"
        again = "Retry the rolled-back transaction (--max-tries); it will succeed."
        first = [
            f"Lock the same rows in the same order {where}: sort the keys, or fix an order of "
            "tables.",
            *([] if self.tries_again else [again]),
        ]
        strongest, last = _at_once(self.database)
        return [strongest, *first, *last] if self.share_rows else [*first, strongest, *last]

    @property
    def gain(self) -> str:
        """The time of retries without a reason is a lower estimate, which bounds nothing."""
        return "" if self.retries else self.gains.text(self.share or 0.0)

    @property
    def _weaker(self) -> str:
        level: IsolationLevel = "read-committed"
        option = f" (--isolation {level})" if level in self.database.isolation.levels else ""
        return f"Run again at READ COMMITTED{option} on a test server"

    @property
    def refute(self) -> str:
        if self.kinds == {SERIALIZATION}:
            return f"{self._weaker}: there must be no such failure."
        if not self.kinds:
            return f"{self._weaker}: those that remain are deadlocks."
        if len(self.scripts) > 1:
            return (
                f"Run {and_so_on(self.scripts)} each alone: deadlocks between them must disappear; "
                "those that remain are within one script, whose keys have no fixed order."
            )
        return (
            "Sort the keys that a transaction locks, take each lock at once in its strongest mode, "
            "and run again: there must be no deadlock."
        )


def look(run: Run) -> Deadlocks | NotFound:
    """Any of them is worth a note."""
    failures = _of_deadlocks(full_record(run).failures)
    tried_again = _of_deadlocks(full_record(run).tried_again)
    has_reasons = bool(full_record(run).tried_again)
    retried = 0 if has_reasons else transactions_of(run).retried
    retried = needed(retried, "the text that was imported does not say what was tried again")
    server_deadlocks = deadlocks_counted_in(run)
    if not failures and not tried_again and not retried and not server_deadlocks:
        return NotFound("no transaction failed by a deadlock or a serialization failure")
    thrown_away, standing_still = _thrown_away(run), _standing_still(run)
    taking_part = _taking_part(run)
    scripts = full_record(run).scripts
    is_all = len(failures) == len(full_record(run).failures)
    has_several = len(scripts) > 1 and any(one.failed for one in scripts)
    return Deadlocks(
        share=max(thrown_away, standing_still or 0.0),
        failures={one.code: one.count for one in failures},
        tried_again={one.code: one.count for one in tried_again},
        retried=retried,
        retries=0 if has_reasons else _retries(run),
        server_deadlocks=server_deadlocks,
        thrown_away=thrown_away,
        standing_still=standing_still,
        failed=failures,
        again=tried_again,
        logged=_logged(run),
        scripts=[scripts[number].name for number in taking_part],
        are_some_scripts=bool(taking_part) and len(scripts) > 1,
        failed_by_script=[
            ScriptCount(one.name, one.failed or 0, one.ok + (one.failed or 0)) for one in scripts
        ]
        if is_all and has_several
        else [],
        share_rows=_share_rows(run, taking_part),
        tries_again=run.plan.retry.tries_max != 1,
        database=run.database,
        gains=gains_in(run),
    )


def _at_once(database: Database) -> tuple[str, list[str]]:
    """Advice on row locks, and what else helps."""
    if database.has("gap_locks"):
        how, then = _WITH_PARENTS
        return _AT_ONCE.format(how=how) + then, [
            "Use READ COMMITTED: it takes no gap locks, and has fewer deadlocks where they are "
            "involved."
        ]
    if database.has("deadlock_timeout"):
        return _AT_ONCE.format(how=" (FOR SHARE)"), [
            "Lower deadlock_timeout: waits for a deadlock become shorter, at the cost of more "
            "frequent checks."
        ]
    return _AT_ONCE.format(how=""), []


def _of_deadlocks(failures: list[FailureRecord]) -> list[FailureRecord]:
    return [failure for failure in failures if failure.failure_class in KINDS]


def _retries(run: Run) -> int:
    """Attempts beyond the first, of all transactions that have ended."""
    return int(run.intervals.retries.max(initial=0))


def _thrown_away(run: Run) -> float:
    """The share of client time in failed attempts."""
    failures = [*full_record(run).failures, *full_record(run).tried_again]
    if full_record(run).tried_again:
        return share_of_time(run, sum(one.took_s or 0.0 for one in _of_deadlocks(failures)))
    ok, failed = (total_with_drain(run, table) for table in (run.scripts, run.failed))
    tries = ok.count + failed.count + _retries(run)
    deadlock_share = sum(one.count for one in _of_deadlocks(failures)) / max(
        sum(one.count for one in failures), 1
    )
    return share_of_time(
        run, failed.seconds * deadlock_share + ok.seconds * _retries(run) / max(tries, 1)
    )


def _standing_still(run: Run) -> float | None:
    """The share of client time in waits for locks while a deadlock was pending."""
    spent = known_budget(run)
    return spent.share("lock") * pending_share(run) if spent else None


def _logged(run: Run) -> int:
    """Deadlocks in the server's log, in the measured part."""
    log = rows(run.log_entries.time_s, run.log_entries.topic)
    end_s = full_record(run).duration_s or 0.0
    return sum(topic == "deadlock" and 0 < time_s <= end_s for time_s, topic in log)


def _share_rows(run: Run, scripts: list[int]) -> bool:
    """Whether one of the scripts takes a shared row lock."""
    return any(one.script in scripts and one.sql.shares_rows for one in statements_of(run))


def _taking_part(run: Run) -> list[int]:
    """The numbers of the scripts that may take part in deadlocks."""
    taking = {one.script for one in statements_of(run) if not one.sql.locks_nothing}
    known = {one.script for one in statements_of(run)}
    return [
        number
        for number, one in enumerate(full_record(run).scripts)
        if one.failed or number in taking or number not in known
    ]


RULE = Rule(
    id="deadlocks",
    title="Deadlocks and serialization failures",
    look=look,
    accounts_for=frozenset(get_args(PartKind)) - {*OUTSIDE},
    explains_failures=True,
    events=frozenset({"deadlock"}),
)
