"""WAL writes and flushes: transactions wait until their WAL is on storage.

Looks for: waits for writing and flushing WAL, at commits above all, and waits for row locks whose
holder was flushing at that moment.

Arithmetic: the share of client time in such waits, each lock wait charged to the end of its chain.
With flushes of f seconds and one commit after the other no client makes more than 1/f per second;
group commit lets commits that arrive meanwhile share the next flush: commits over flushes is how
many did. The bound's interval is from how the flushing time of a commit varies over the run. One
flush is in progress at a time, so it takes at most the time in which anyone waited,
over the number of flushes. Storage that answers within a millisecond is not the cause of anything:
that wait is the price of durable commits and the normal limit of a closed loop of short
transactions, never more than a note. Where a flush writes much (WAL bytes over flushes), the amount
takes the time, not the number of flushes. Where commit_delay is at least half of the time of a
flush, the delay is the cause. Where commits are set not to wait for storage, none of this is
reported, and only waits are counted.

MariaDB and MySQL write a redo log; there the commit stage counts as such a wait too. Where no
commit waits for storage the server mostly works in that stage: then it is a hint, and a note. A
binary log that sync_binlog flushes is waited for in the same stage, and has to be relaxed with it.

Source: the PostgreSQL manual on WAL configuration and asynchronous commit; the MySQL manual on
innodb_flush_log_at_trx_commit; bounds as in the time budget of a closed loop.

Wrong when: the storage is shared with checkpoints or other programs and is slow only because of
them (see the rules on checkpoints, and the disk's latency).
"""

import numpy as np
from msgspec import Struct

from dbdyno.analysis.alignment import measured_intervals, over
from dbdyno.analysis.bounds import UNBOUNDED, commit_bound_tps
from dbdyno.analysis.budget import Budget
from dbdyno.analysis.costs import LAG_S, cost
from dbdyno.analysis.protocol import MYSQL
from dbdyno.analysis.ratios import ratio, widened
from dbdyno.analysis.readings import Growth, growth, objects, was_read
from dbdyno.analysis.session_samples import measured_s
from dbdyno.explain.case import Case
from dbdyno.explain.databases import database_of
from dbdyno.explain.needs import client_time, committed, growth_if_reported
from dbdyno.explain.rule import NOTICED, NotFound, Outcome, Rule, found, severity_of
from dbdyno.explain.sentences import bound_text, gain_of_waits
from dbdyno.explain.settings import is_on
from dbdyno.explain.sql import written_table
from dbdyno.formatting import milliseconds, percent, significant, size
from dbdyno.model.recording import rows
from dbdyno.model.telemetry import ServerFacts

# Flash with a cache that survives a power cut answers in 0.05 to 0.5 ms, without one in 1 to 5, a
# disk in 5 to 15.
PROMPT_S = 1e-3
# Storage writes several tens of pages in about the time of one; beyond that, each takes its time.
MUCH_BYTES = 64 << 10
_COMMIT_STAGES = frozenset({"commit", "handler commit"})
_WORK_TEXT = (
    "Most of this is the time of the server's commit stage, in which it also works: what it waits "
    "for there is not known."
)
_DELAYED = "Commits wait for others to join them (commit_delay)"
_NO_DELAY = (
    "Set commit_delay = 0; where it is meant to save flushes, about half the time of one flush "
    "(pg_test_fsync) is enough."
)
_NO_DELAY_TRIED = "Run again with commit_delay = 0: throughput must rise, and this share must fall."
_REPLICAS = (
    "Where there are replicas, leave the binary log as it is: a crash would lose transactions from "
    "it that the tables contain, and replicas would never receive them."
)


class _Flushes(Struct, frozen=True, kw_only=True):
    """Flushes of the measured part; the time of one if the server measures it."""

    per_s: float
    commits_per_flush: float
    """Commits of transactions that write: others have nothing to flush."""
    each_s: float | None
    each_at_most_s: float
    bound_range_tps: tuple[float, float] | None
    """The 95 % interval of the commits that flushes allow; None if they are not timed."""
    bytes_each: float | None
    bytes_per_transaction: float | None
    delay_s: float
    """How long a commit waits for others before it flushes (commit_delay)."""

    @property
    def bound_tps(self) -> float | None:
        """Commits per second that flushes allow one after the other; None if they are not timed."""
        return commit_bound_tps(self.each_s, self.commits_per_flush) if self.each_s else None

    @property
    def are_prompt(self) -> bool:
        """Whether the storage is as fast as good storage can be."""
        return min(self.each_s or self.each_at_most_s, self.each_at_most_s) <= PROMPT_S

    @property
    def are_delayed(self) -> bool:
        """Whether the delay takes most of the time."""
        return self.delay_s > 0 and self.delay_s >= self.each_at_most_s / 2

    @property
    def is_delay_felt(self) -> bool:
        """Whether the delay is a part of the time worth naming."""
        return self.delay_s > 0 and self.delay_s >= self.each_at_most_s * NOTICED

    @property
    def are_large(self) -> bool:
        """Whether they take time by what they write, rather than by their number."""
        return (self.bytes_each or 0.0) >= MUCH_BYTES


class _Promise(Struct, frozen=True, kw_only=True):
    """What a commit waits for: the log or logs, and the settings with which it would not.

    ``relaxed`` is empty if it waits for none already; ``reach`` is the scope of the setting.
    """

    log: str
    is_of_redo: bool
    is_of_binary_log: bool
    relaxed: str
    reach: str


def look(case: Case) -> Outcome:
    """Report the waits that are charged to the WAL."""
    spent = client_time(case)
    share, own = spent.charged("wal"), spent.share("wal")
    if share < NOTICED:
        return NotFound(f"clients waited for the log for {percent(share)} of their time")
    promise = _promise(case)
    flushes = _flushes(case, own * spent.total) if promise.is_of_redo else None
    worst = _worst_event(spent)
    is_delayed = flushes is not None and flushes.are_delayed
    is_prompt = flushes is not None and flushes.are_prompt and not is_delayed
    is_work = not promise.relaxed and worst in _COMMIT_STAGES
    return found(
        f"Transactions wait for the {promise.log}{' to reach storage' if promise.relaxed else ''}"
        f"{_or_for_locks(share - own)}: {percent(share)} of client time"
        f"{', most of it in ' + worst if worst else ''}.",
        title=_DELAYED if is_delayed else f"Limited by {promise.log} writes and flushes",
        share=share,
        severity="note" if is_prompt or is_work else severity_of(share),
        share_of="client time",
        certainty="hint" if is_work else "sure" if flushes and flushes.each_s else "likely",
        evidence={
            "own_share": own,
            "behind_locks_share": share - own,
            "event": worst,
            "flushes_per_s": flushes.per_s if flushes else None,
            "commits_per_flush": flushes.commits_per_flush if flushes else None,
            "flush_ms": flushes.each_s * 1e3 if flushes and flushes.each_s else None,
            "flush_bytes": flushes.bytes_each if flushes else None,
            "bound_tps": flushes.bound_tps if flushes else None,
            "bound_range_tps": flushes.bound_range_tps if flushes else None,
        },
        seen=[
            f"They wait for it directly for {percent(own)} of client time"
            f"{_behind_locks(share - own)}.",
            *(_flushes_text(flushes, promise.log) if flushes else []),
            *([_WORK_TEXT] if is_work else []),
        ],
        why=_why(promise),
        advice=[
            *([_NO_DELAY] if flushes and flushes.is_delay_felt else []),
            *([] if is_delayed else _advice(promise, flushes, can_be_faster=not is_prompt)),
        ],
        gain=gain_of_waits(case, share),
        refute=_NO_DELAY_TRIED if is_delayed else _refute(promise),
    )


def _or_for_locks(share: float) -> str:
    """These waits also count in a lock's finding: the shares of both may exceed 100 %."""
    return ", or for locks of transactions that do" if share >= NOTICED else ""


def _behind_locks(share: float) -> str:
    return f", for {percent(share)} for locks whose holders do" if share >= NOTICED else ""


def _worst_event(spent: Budget) -> str:
    events = [part.wait_event for part in spent.parts if part.kind == "wal"]
    events += [charge.root_wait for charge in spent.charges if charge.root_kind == "wal"]
    return max(events, key=lambda event: spent.charged("wal", event), default="")


def _flushes(case: Case, waited_s: float) -> _Flushes | None:
    """None if the server counts none; ``waited_s`` is the clients' total waiting time."""
    counted = _counted(case)
    if counted is None or not counted[0]:
        return None
    flushes, spent_ms = counted
    seconds = measured_s(case.recording)
    of_transaction = cost(case.costs, "wal_bytes")
    return _Flushes(
        per_s=flushes / seconds,
        commits_per_flush=_writing(case) / flushes,
        each_s=spent_ms / flushes / 1e3 if spent_ms else None,
        bound_range_tps=_bound_range_tps(case, spent_ms),
        each_at_most_s=min(waited_s, seconds) / flushes,
        bytes_each=of_transaction and of_transaction * committed(case) / flushes,
        bytes_per_transaction=of_transaction,
        delay_s=_delay_s(case),
    )


def _bound_range_tps(case: Case, spent_ms: float) -> tuple[float, float] | None:
    """From the time that the commits of each reading spent flushing."""
    timed = _flushing(case) if spent_ms else []
    if not timed:
        return None
    intervals = measured_intervals(case.recording)
    done = Growth(intervals.end_s, intervals.end_s - intervals.begin_s, intervals.committed)
    ends_s, lengths_s = timed[0].time_s, timed[0].seconds
    committed = over(done, ends_s - lengths_s, ends_s)
    known = ~np.isnan(committed)
    flushing = np.sum([one.delta for one in timed], axis=0)
    each = ratio(flushing[known], committed[known])
    if each and case.protocol != MYSQL:  # PostgreSQL's sessions publish their counts late
        each = widened(each, LAG_S / float(lengths_s[known].sum()))
    if each is None or each.low is None or each.high is None:
        return None
    bound_tps = _writing(case) / spent_ms * 1e3
    high = bound_tps * each.value / each.low if each.low else UNBOUNDED
    return bound_tps * each.value / each.high, high


def _flushing(case: Case) -> list[Growth]:
    """The time of flushes over time; the units do not matter."""
    if case.protocol == MYSQL:
        timed = [("file_io", "sync_us", "innodb_log_file")]
    elif _grown(case, "pg_stat_wal", "wal_sync"):
        timed = [("pg_stat_wal", "wal_sync_time", "")]
    else:
        timed = [("pg_stat_io", "fsync_time", of) for of in _wal_of_io(case)]
    return [one for of in timed if (one := growth(case.recording, *of)) is not None]


def _delay_s(case: Case) -> float:
    """Of PostgreSQL, in its own microseconds; 0 if it was not recorded."""
    facts = case.before or case.after or ServerFacts()
    return float(facts.settings.get("commit_delay", 0)) / 1e6


def _writing(case: Case) -> float:
    """Committed transactions of the scripts that write; of all if no statement shows it."""
    texts = rows(case.recording.tables["statement_texts"], ("script", "sql"))
    writers = {script for script, sql in texts if written_table(sql)}
    done = [script.ok for script in case.record.scripts]
    if not writers or not sum(done):
        return committed(case)
    share: float = sum(done[script] for script in writers) / sum(done)
    return committed(case) * share


def _counted(case: Case) -> tuple[float, float] | None:
    """Flushes and their milliseconds."""
    return _of_redo(case) if case.protocol == MYSQL else _of_wal(case)


def _of_redo(case: Case) -> tuple[float, float] | None:
    """Timed if the performance schema counts them; otherwise each write of the log has its flush.

    MariaDB's does not since 10.8.
    """
    names = ("syncs", "sync_us")
    syncs, sync_us = (_grown(case, "file_io", name, "innodb_log_file") for name in names)
    if syncs:
        return syncs, sync_us / 1e3
    writes = growth_if_reported(case, "global_status", "Innodb_log_writes")
    return None if writes is None else (writes, 0.0)


def _of_wal(case: Case) -> tuple[float, float] | None:
    """From pg_stat_wal until 17, then from pg_stat_io."""
    if _grown(case, "pg_stat_wal", "wal_sync"):
        return _grown(case, "pg_stat_wal", "wal_sync"), _grown(case, "pg_stat_wal", "wal_sync_time")
    if not was_read(case.recording, "pg_stat_io"):
        return None
    of_wal = _wal_of_io(case)
    return (
        sum(_grown(case, "pg_stat_io", "fsyncs", name) for name in of_wal),
        sum(_grown(case, "pg_stat_io", "fsync_time", name) for name in of_wal),
    )


def _wal_of_io(case: Case) -> list[str]:
    found = objects(case.recording, "pg_stat_io")
    return [name for name in found if name.split("/")[1:2] == ["wal"]]


def _grown(case: Case, source: str, name: str, of: str | None = None) -> float:
    return growth_if_reported(case, source, name, of) or 0.0


def _flushes_text(flushes: _Flushes, log: str) -> list[str]:
    shared = f"{significant(flushes.commits_per_flush)} commits per flush"
    sentences = [f"{significant(flushes.per_s)} flushes per second; {shared}."]
    if flushes.are_large:
        sentences.append(
            f"A flush writes {size(flushes.bytes_each or 0.0)} on average: a transaction writes "
            f"{size(flushes.bytes_per_transaction or 0.0)} of {log}."
        )
    if flushes.is_delay_felt:
        sentences.append(
            f"Before each flush a commit waits {milliseconds(flushes.delay_s * 1e3)} for others "
            "(commit_delay), if enough others are active (commit_siblings)."
        )
    if flushes.are_prompt and not flushes.are_delayed:
        sentences.append(
            f"A flush takes at most {milliseconds(flushes.each_at_most_s * 1e3)}: the storage is "
            "fast, and this is the price of durable commits."
        )
    if flushes.each_s and flushes.bound_tps:
        allowed = bound_text(flushes.bound_tps, flushes.bound_range_tps, "commits per second")
        sentences.append(
            f"A flush takes {milliseconds(flushes.each_s * 1e3)}: one after the other, with as "
            f"many commits in each, they allow {allowed}."
        )
    return sentences


def _promise(case: Case) -> _Promise:
    """From the settings; if they were not recorded, the server's default."""
    database = database_of(case)
    facts = case.before or case.after or ServerFacts()
    level = facts.settings.get(database.commit_setting, "")
    logs, relaxed = [], []
    if is_of_redo := level not in database.commit_unflushed:
        logs.append(database.log)
        relaxed.append(_changed(database.commit_setting, database.commit_relaxed, level))
    synced = facts.settings.get("sync_binlog", "0")
    if is_of_binary_log := is_on(facts, "log_bin") and synced != "0":
        logs.append("binary log")
        relaxed.append(_changed("sync_binlog", "0", synced))
    return _Promise(
        log=" and ".join(logs) or database.log,
        is_of_redo=is_of_redo,
        is_of_binary_log=is_of_binary_log,
        relaxed=" and ".join(relaxed),
        reach=database.commit_setting_reach,
    )


def _changed(setting: str, to: str, level: str) -> str:
    return f"{setting}={to}{f' instead of {level}' if level else ''}"


def _why(promise: _Promise) -> str:
    if promise.relaxed:
        return (
            f"A commit returns when its {promise.log} is on storage, and its locks are held until "
            "then."
        )
    return (
        "No commit waits for storage here, but all sessions write their changes to one "
        f"{promise.log}, and wait while it is full or another session writes it."
    )


def _refute(promise: _Promise) -> str:
    if promise.relaxed:
        return f"On a test server, run again with {promise.relaxed}: this share must disappear."
    return f"Run again with the {promise.log} on faster storage: this share must fall."


def _advice(promise: _Promise, flushes: _Flushes | None, *, can_be_faster: bool) -> list[str]:
    are_large = flushes is not None and flushes.are_large
    if not promise.relaxed:
        return [
            f"Write less {promise.log}: fewer indexes, larger transactions.",
            f"Put the {promise.log} on faster storage.",
        ]
    faster = f"Put the {promise.log} on storage with faster flushes (a power-loss protected cache)."
    fewer = (
        "Reduce the number of flushes: more work per transaction, or more clients that share a "
        "flush."
    )
    less = (
        f"Write less {promise.log} per transaction: fewer rows and indexes; and large values are "
        "written whole when a part of them changes (a document, a long text): split them."
    )
    return [
        *([less] if are_large else []),
        *([faster] if can_be_faster else []),
        *([] if are_large else [fewer]),
        "Where losing the last commits in a crash is acceptable (consistency is not at risk): "
        f"{promise.relaxed}, {promise.reach}.",
        *([_REPLICAS] if promise.is_of_binary_log else []),
    ]


RULE = Rule(
    id="wal_write",
    title="Limited by WAL writes and flushes",
    look=look,
    accounts_for=frozenset({"wal", "lock"}),
)
