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

from msgspec import Struct

from dbdyno.analysis.planned_load import is_constant_load
from dbdyno.analysis.protocol import MYSQL
from dbdyno.analysis.readings import lack_of, level, objects
from dbdyno.explain.case import Case
from dbdyno.explain.needs import committed, measured, measured_peak
from dbdyno.explain.purge import history_of
from dbdyno.explain.rule import (
    MAJOR,
    MINOR,
    NOTICED,
    CouldNotLook,
    NotFound,
    Outcome,
    Rule,
    found,
    severity_of,
)
from dbdyno.formatting import count, percent, seconds
from dbdyno.model.record import Finding

OLD_S = 1.0
KEPT_MIN = 1000
_TABLES = "pg_stat_user_tables"


class _Dead(Struct, frozen=True):
    """A table's dead rows and live rows at the end."""

    table: str
    dead: float
    live: float

    @property
    def ratio(self) -> float:
        """Dead rows per live row."""
        return self.dead / max(self.live, 1.0)


class _Holder(Struct, frozen=True):
    """Who holds the horizon: in a title, in a sentence, and what to do about it."""

    name: str
    description: str
    advice: list[str]


_STANDBY = _Holder(
    name="replication slot or standby",
    description="a replication slot or a standby",
    advice=[
        "Find it in pg_replication_slots by xmin, or in pg_stat_replication by backend_xmin; drop "
        "a slot that is no longer used (pg_drop_replication_slot).",
        "End long queries on a standby that is in use: with hot_standby_feedback it reports what "
        "they still read.",
    ],
)


def look(case: Case) -> Outcome:
    """Find a transaction that is older than the load's own and holds back the horizon."""
    outcome = _of_history(case) if case.protocol == MYSQL else _of_dead_rows(case)
    hidden = lack_of(case.recording, "sessions")
    return CouldNotLook(hidden) if isinstance(outcome, NotFound) and hidden else outcome


def _of_history(case: Case) -> Outcome:
    """InnoDB keeps old versions apart from the rows, and counts their transactions."""
    history = history_of(case)
    if not history.is_held:
        return NotFound(f"the oldest transaction was {seconds(history.oldest_s)} old")
    if history.kept < KEPT_MIN or history.kept < MINOR * committed(case):
        return NotFound(
            f"a transaction was {seconds(history.oldest_s)} old, but little was kept for it"
        )
    lost = _lost_since_the_first_third(case)
    is_idle = history.oldest_idle_s > history.oldest_s / 2
    return found(
        f"{_capital(_aged(history.oldest_s, is_idle=is_idle))} keeps the old row versions of "
        f"{count(history.length.last)} transactions from being purged.",
        title=f"{'Idle' if is_idle else 'Long'} transaction holds back the purge of old versions",
        severity=severity_of(max(lost or 0.0, MAJOR)),
        certainty="sure" if _is_felt(lost) else "likely",
        evidence={
            "oldest_transaction_s": history.oldest_s,
            "history_first": history.length.first,
            "history_last": history.length.last,
            "lost_throughput": lost,
        },
        seen=[
            f"The history list length went from {count(history.length.first)} to "
            f"{count(history.length.last)} transactions.",
            *_lost_text(lost),
        ],
        why="Reading a changed row walks back through its versions, the undo log grows, and its "
        "pages push others out of the buffer pool.",
        advice=[
            "End it: find it in information_schema.innodb_trx by trx_started, then COMMIT or KILL "
            "its trx_mysql_thread_id.",
            "Read in short transactions, or at READ COMMITTED, where only a running statement "
            "holds back the purge.",
        ],
        gain="What was lost since it began returns once it has ended and purge has caught up.",
        refute="Run again without it: the history list must stay short.",
    )


def _of_dead_rows(case: Case) -> Outcome:
    """PostgreSQL keeps old versions among the rows."""
    oldest_s = measured_peak(case, "sessions", "oldest_transaction_s")
    horizon = measured_peak(case, "sessions", "horizon_age_transactions")
    slowest_s = case.record.response_ms.max / 1e3 if case.record.response_ms else 0.0
    is_standby = 0 < horizon <= _held_for_standbys(case)
    if oldest_s < max(OLD_S, 2 * slowest_s) and not is_standby:
        return NotFound(f"the oldest transaction was {seconds(oldest_s)} old")
    holder = _STANDBY if is_standby else _transaction(case, oldest_s)
    dead = max(_dead_rows(case), key=lambda one: one.dead, default=None)
    if dead is None or dead.ratio < MINOR or horizon < dead.dead * MINOR:
        return NotFound(f"few dead rows were kept for {holder.description}")
    return _finding(case, holder, oldest_s, horizon, dead)


def _held_for_standbys(case: Case) -> float:
    """How far behind standbys are; 0 if not reported, as in runs of older versions."""
    ages = level(case.recording, "sessions", "standby_age_transactions")
    return float(measured(case, ages).max(initial=0.0)) if ages else 0.0


def _transaction(case: Case, oldest_s: float) -> _Holder:
    is_idle = measured_peak(case, "sessions", "oldest_idle_in_transaction_s") > oldest_s / 2
    return _Holder(
        name=f"{'idle' if is_idle else 'long'} transaction",
        description=_aged(oldest_s, is_idle=is_idle),
        advice=[
            "End it: find it in pg_stat_activity by xact_start, then COMMIT or "
            "pg_terminate_backend(pid); one in pg_prepared_xacts has no session: end it with "
            "COMMIT PREPARED or ROLLBACK PREPARED.",
            "Limit idle transactions: set idle_in_transaction_session_timeout."
            if is_idle
            else "Read in shorter transactions, or run long reports and dumps on a standby without "
            "hot_standby_feedback.",
        ],
    )


def _aged(oldest_s: float, *, is_idle: bool) -> str:
    return f"{'an idle' if is_idle else 'a'} transaction that is {seconds(oldest_s)} old"


def _finding(case: Case, holder: _Holder, oldest_s: float, horizon: float, dead: _Dead) -> Finding:
    lost = _lost_since_the_first_third(case)
    return found(
        f"{_capital(holder.description)} keeps {count(dead.dead)} dead rows of {dead.table} "
        f"from being removed; the table has {count(dead.live)} live rows.",
        title=f"{_capital(holder.name)} holds back the xmin horizon",
        severity=severity_of(max(lost or 0.0, MAJOR if dead.ratio >= 1 else MINOR)),
        certainty="sure" if dead.ratio >= 1 and _is_felt(lost) else "likely",
        evidence={
            "oldest_transaction_s": oldest_s,
            "horizon_age_transactions": horizon,
            "table": dead.table,
            "dead_rows": dead.dead,
            "live_rows": dead.live,
            "lost_throughput": lost,
        },
        seen=[
            f"The xmin horizon is {count(horizon)} transactions behind.",
            *_lost_text(lost),
        ],
        why="Every statement reads past the dead versions of its rows, pages fill up with them, "
        "HOT pruning cannot prune them, and vacuum cannot remove them.",
        advice=holder.advice,
        gain="What was lost since it began returns once it has ended and vacuum has run.",
        refute="Run again without it: throughput must stay level and dead rows few.",
    )


def _capital(description: str) -> str:
    return description[0].upper() + description[1:]


def _dead_rows(case: Case) -> list[_Dead]:
    """Dead rows by the server's last counts."""
    found_rows = []
    for table in objects(case.recording, _TABLES):
        dead = level(case.recording, _TABLES, "n_dead_tup", table)
        live = level(case.recording, _TABLES, "n_live_tup", table)
        if dead and live and len(dead.value) and len(live.value):
            found_rows.append(_Dead(table, float(dead.value[-1]), float(live.value[-1])))
    return found_rows


def _lost_since_the_first_third(case: Case) -> float | None:
    """Throughput of the last third of the run, as a loss relative to the first.

    None if the plan asked for a change, or there is too little data.
    """
    tps = case.timeline.measured().tps
    third = len(tps) // 3
    if not is_constant_load(case.recording.plan) or not third or not tps[:third].mean():
        return None
    return max(1.0 - float(tps[-third:].mean() / tps[:third].mean()), 0.0)


def _is_felt(lost: float | None) -> bool:
    """Whether throughput fell, too."""
    return lost is not None and lost >= MINOR


def _lost_text(lost: float | None) -> list[str]:
    """Thirds of one run differ by a few per cent without a cause."""
    if lost is None:
        return []
    if lost < NOTICED:
        return ["Throughput did not fall noticeably."]
    return [f"Throughput in the last third of the run is {percent(lost)} below the first third."]


RULE = Rule(
    id="long_transaction",
    title="A long transaction holds back the xmin horizon",
    look=look,
    covers=frozenset({"hot_updates", "autovacuum_behind", "table_growth", "purge_lag"}),
)
