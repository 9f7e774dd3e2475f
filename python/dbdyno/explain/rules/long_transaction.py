"""A long transaction keeps dead rows from being removed.

Looks for: a transaction that is much older than any of the load's and holds back the xmin horizon:
what was updated or deleted since it began must be kept, HOT chains cannot be pruned, and vacuum
removes nothing.

Arithmetic: a transaction counts when it is older than a second and than twice the slowest
transaction of the load, and the horizon is behind. Its effect on the run shows in the dead rows
that remain, relative to the live rows, and in the throughput of the last third of the run relative
to the first: the loss by then gives the severity, and more dead rows than live ones make it major
in any case. Where the load was meant to change, in stages or by a schedule, throughput is not
compared. A prepared transaction has no session, and is as old as its PREPARE. A replication slot,
or a standby with hot_standby_feedback, has no transaction at all: it counts when no other holder is
farther behind. InnoDB keeps old versions in the undo log: there the growth of the history list
counts, which is major when it exceeds one transaction in twenty.

Source: the PostgreSQL manual on routine vacuuming, and src/backend/access/heap/README.HOT; the
MySQL manual on InnoDB multi-versioning and purge configuration.

Wrong when: throughput fell for another reason at the same time, or the old transaction is part of
what you want to measure (a report that runs beside the load).
"""

from typing import ClassVar

from msgspec import Struct

from dbdyno.analysis.series.planned_load import is_constant_load
from dbdyno.analysis.series.readings import lack_of, level, objects
from dbdyno.analysis.series.timeline import timeline
from dbdyno.analysis.summarize import full_record
from dbdyno.explain.needs import committed, measured, measured_peak
from dbdyno.explain.resources.purge import history_of
from dbdyno.explain.rule import (
    MAJOR,
    MINOR,
    NOTICED,
    Aside,
    Claim,
    CouldNotLook,
    NotFound,
    Rule,
    severity_of,
)
from dbdyno.formatting import count, percent, seconds
from dbdyno.model.counters import PgUserTables, Sessions
from dbdyno.model.record import Certainty, Severity
from dbdyno.model.run import Run

OLD_S = 1.0
KEPT_MIN = 1000
STANDBY = "a replication slot or a standby"


class _Dead(Struct, frozen=True):
    """A table's dead rows and live rows at the end."""

    table: str
    dead: float
    live: float

    @property
    def ratio(self) -> float:
        """Dead rows per live row."""
        return self.dead / max(self.live, 1.0)


class HeldPurge(Claim, frozen=True, kw_only=True):
    """A transaction keeps InnoDB from purging old versions, whose transactions it counts."""

    oldest_transaction_s: float
    history_first: float
    history_last: float
    lost_throughput: float | None
    """Of the last third of the run relative to the first; None if they cannot be compared."""
    is_idle: Aside[bool] = False

    @property
    def title(self) -> str:
        kind = "Idle" if self.is_idle else "Long"
        return f"{kind} transaction holds back the purge of old versions"

    @property
    def severity(self) -> Severity:
        return severity_of(max(self.lost_throughput or 0.0, MAJOR))

    @property
    def certainty(self) -> Certainty:
        return "sure" if is_felt(self.lost_throughput) else "likely"

    @property
    def summary(self) -> str:
        holder = aged(self.oldest_transaction_s, is_idle=self.is_idle)
        return (
            f"{capital(holder)} keeps the old row versions of {count(self.history_last)} "
            "transactions from being purged."
        )

    @property
    def seen(self) -> list[str]:
        return [
            f"The history list length went from {count(self.history_first)} to "
            f"{count(self.history_last)} transactions.",
            *lost_text(self.lost_throughput),
        ]

    why: ClassVar[str] = (
        "Reading a changed row walks back through its versions, the undo log grows, and its pages "
        "push others out of the buffer pool."
    )
    advice: ClassVar[list[str]] = [
        "End it: find it in information_schema.innodb_trx by trx_started, then COMMIT or KILL its "
        "trx_mysql_thread_id.",
        "Read in short transactions, or at READ COMMITTED, where only a running statement holds "
        "back the purge.",
    ]
    gain: ClassVar[str] = (
        "What was lost since it began returns once it has ended and purge has caught up."
    )
    refute: ClassVar[str] = "Run again without it: the history list must stay short."


class HeldHorizon(Claim, frozen=True, kw_only=True):
    """A transaction or a standby keeps PostgreSQL from removing dead rows."""

    oldest_transaction_s: float
    horizon_age_transactions: float
    table: str
    """The one with most dead rows."""
    dead_rows: float
    live_rows: float
    lost_throughput: float | None
    """Of the last third of the run relative to the first; None if they cannot be compared."""
    is_idle: Aside[bool] = False
    is_standby: Aside[bool] = False

    @property
    def are_mostly_dead(self) -> bool:
        """Whether there is a dead row for each live one."""
        return self.dead_rows / max(self.live_rows, 1.0) >= 1

    @property
    def holder(self) -> str:
        """Who holds the horizon, in a sentence."""
        if self.is_standby:
            return STANDBY
        return aged(self.oldest_transaction_s, is_idle=self.is_idle)

    @property
    def title(self) -> str:
        kind = "idle transaction" if self.is_idle else "long transaction"
        if self.is_standby:
            kind = "replication slot or standby"
        return f"{capital(kind)} holds back the xmin horizon"

    @property
    def severity(self) -> Severity:
        least = MAJOR if self.are_mostly_dead else MINOR
        return severity_of(max(self.lost_throughput or 0.0, least))

    @property
    def certainty(self) -> Certainty:
        is_seen_twice = self.are_mostly_dead and is_felt(self.lost_throughput)
        return "sure" if is_seen_twice else "likely"

    @property
    def summary(self) -> str:
        return (
            f"{capital(self.holder)} keeps {count(self.dead_rows)} dead rows of {self.table} from "
            f"being removed; the table has {count(self.live_rows)} live rows."
        )

    @property
    def seen(self) -> list[str]:
        return [
            f"The xmin horizon is {count(self.horizon_age_transactions)} transactions behind.",
            *lost_text(self.lost_throughput),
        ]

    why: ClassVar[str] = (
        "Every statement reads past the dead versions of its rows, pages fill up with them, HOT "
        "pruning cannot prune them, and vacuum cannot remove them."
    )

    @property
    def advice(self) -> list[str]:
        if self.is_standby:
            return [
                "Find it in pg_replication_slots by xmin, or in pg_stat_replication by "
                "backend_xmin; drop a slot that is no longer used (pg_drop_replication_slot).",
                "End long queries on a standby that is in use: with hot_standby_feedback it "
                "reports what they still read.",
            ]
        return [
            "End it: find it in pg_stat_activity by xact_start, then COMMIT or "
            "pg_terminate_backend(pid); one in pg_prepared_xacts has no session: end it with "
            "COMMIT PREPARED or ROLLBACK PREPARED.",
            "Limit idle transactions: set idle_in_transaction_session_timeout."
            if self.is_idle
            else "Read in shorter transactions, or run long reports and dumps on a standby without "
            "hot_standby_feedback.",
        ]

    gain: ClassVar[str] = (
        "What was lost since it began returns once it has ended and vacuum has run."
    )
    refute: ClassVar[str] = "Run again without it: throughput must stay level and dead rows few."


def aged(oldest_s: float, *, is_idle: bool) -> str:
    """A transaction by its age."""
    return f"{'an idle' if is_idle else 'a'} transaction that is {seconds(oldest_s)} old"


def capital(description: str) -> str:
    """As the beginning of a sentence."""
    return description[0].upper() + description[1:]


def is_felt(lost: float | None) -> bool:
    """Whether throughput fell, too."""
    return lost is not None and lost >= MINOR


def lost_text(lost: float | None) -> list[str]:
    """Thirds of one run differ by a few per cent without a cause."""
    if lost is None:
        return []
    if lost < NOTICED:
        return ["Throughput did not fall noticeably."]
    return [f"Throughput in the last third of the run is {percent(lost)} below the first third."]


def look(run: Run) -> HeldPurge | HeldHorizon | NotFound | CouldNotLook:
    """Find a transaction that is older than the load's own and holds back the horizon."""
    has_purge = run.database.has("purge")
    found = _of_history(run) if has_purge else _of_dead_rows(run)
    hidden = lack_of(run, Sessions.source)
    return CouldNotLook(hidden) if isinstance(found, NotFound) and hidden else found


def _of_history(run: Run) -> HeldPurge | NotFound:
    """InnoDB keeps old versions apart from the rows, and counts their transactions."""
    history = history_of(run)
    if not history.is_held:
        return NotFound(f"the oldest transaction was {seconds(history.oldest_s)} old")
    if history.kept < KEPT_MIN or history.kept < MINOR * committed(run):
        return NotFound(
            f"a transaction was {seconds(history.oldest_s)} old, but little was kept for it"
        )
    return HeldPurge(
        oldest_transaction_s=history.oldest_s,
        history_first=history.length.first,
        history_last=history.length.last,
        lost_throughput=_lost_since_the_first_third(run),
        is_idle=history.oldest_idle_s > history.oldest_s / 2,
    )


def _of_dead_rows(run: Run) -> HeldHorizon | NotFound:
    """PostgreSQL keeps old versions among the rows."""
    oldest_s = measured_peak(run, Sessions.oldest_transaction_s)
    horizon = measured_peak(run, Sessions.horizon_age_transactions)
    response_ms = full_record(run).response_ms
    slowest_s = (response_ms.max or 0.0) / 1e3 if response_ms else 0.0
    is_standby = 0 < horizon <= _held_for_standbys(run)
    if oldest_s < max(OLD_S, 2 * slowest_s) and not is_standby:
        return NotFound(f"the oldest transaction was {seconds(oldest_s)} old")
    is_idle = (
        not is_standby and measured_peak(run, Sessions.oldest_idle_in_transaction_s) > oldest_s / 2
    )
    dead = max(_dead_rows(run), key=lambda one: one.dead, default=None)
    if dead is None or dead.ratio < MINOR or horizon < dead.dead * MINOR:
        holder = STANDBY if is_standby else aged(oldest_s, is_idle=is_idle)
        return NotFound(f"few dead rows were kept for {holder}")
    return HeldHorizon(
        oldest_transaction_s=oldest_s,
        horizon_age_transactions=horizon,
        table=dead.table,
        dead_rows=dead.dead,
        live_rows=dead.live,
        lost_throughput=_lost_since_the_first_third(run),
        is_idle=is_idle,
        is_standby=is_standby,
    )


def _held_for_standbys(run: Run) -> float:
    """How far behind standbys are; 0 if not reported, as in runs of older versions."""
    ages = level(run, Sessions.standby_age_transactions)
    return float(measured(run, ages).max(initial=0.0)) if ages else 0.0


def _dead_rows(run: Run) -> list[_Dead]:
    """Dead rows by the server's last counts."""
    found_rows = []
    for table in objects(run, PgUserTables.source):
        dead = level(run, PgUserTables.n_dead_tup, table)
        live = level(run, PgUserTables.n_live_tup, table)
        if dead and live and len(dead.value) and len(live.value):
            found_rows.append(_Dead(table, float(dead.value[-1]), float(live.value[-1])))
    return found_rows


def _lost_since_the_first_third(run: Run) -> float | None:
    """Throughput of the last third of the run, as a loss relative to the first.

    None if the plan asked for a change, or there is too little data.
    """
    tps = timeline(run).measured().tps
    third = len(tps) // 3
    if not is_constant_load(run.plan) or not third or not tps[:third].mean():
        return None
    return max(1.0 - float(tps[-third:].mean() / tps[:third].mean()), 0.0)


RULE = Rule(
    id="long_transaction",
    title="A long transaction holds back the xmin horizon",
    look=look,
)
