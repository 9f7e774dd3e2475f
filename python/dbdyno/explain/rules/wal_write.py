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

from dbdyno.analysis.costs.costs import LAG_S, cost, costs
from dbdyno.analysis.search.bounds import UNBOUNDED, commit_bound_tps
from dbdyno.analysis.series.alignment import measured_intervals, over
from dbdyno.analysis.series.readings import Growth, growth, objects, was_read
from dbdyno.analysis.statistics.estimate import ratio, widened
from dbdyno.analysis.summarize import full_record
from dbdyno.analysis.waits.budget import Budget
from dbdyno.analysis.waits.session_samples import measured_s
from dbdyno.explain.gains import WaitClaim, gains_of_waits_in
from dbdyno.explain.needs import client_time, committed, growth_if_reported
from dbdyno.explain.resources.settings import is_on
from dbdyno.explain.rule import NOTICED, Aside, Evidence, NotFound, Rule, severity_of
from dbdyno.explain.sentences import bound_text
from dbdyno.explain.statements.statements import statements_of
from dbdyno.formatting import milliseconds, percent, significant, size
from dbdyno.model.counters import Counter, FileIo, GlobalStatus, PgIo, PgWal
from dbdyno.model.record import Certainty, Severity
from dbdyno.model.run import Run
from dbdyno.model.telemetry import ServerFacts

# Flash with a cache that survives a power cut answers in 0.05 to 0.5 ms, without one in 1 to 5, a
# disk in 5 to 15.
PROMPT_MS = 1.0
# Storage writes several tens of pages in about the time of one; beyond that, each takes its time.
MUCH_BYTES = 64 << 10
_COMMIT_STAGES = frozenset({"commit", "handler commit"})


class Flushes(Evidence, frozen=True, kw_only=True):
    """Flushes of the measured part; the time of one if the server measures it."""

    flushes_per_s: float | None = None
    """None if the server counts no flushes, like all that follows from their number."""
    commits_per_flush: float | None = None
    """Commits of transactions that write: others have nothing to flush."""
    flush_ms: float | None = None
    flush_bytes: float | None = None
    bound_tps: float | None = None
    """Commits per second that flushes allow one after the other; None if they are not timed."""
    bound_range_tps: tuple[float, float] | None = None
    """Its 95 % interval."""
    at_most_ms: Aside[float] = 0.0
    """What one can have taken, by the time in which anyone waited."""
    bytes_per_transaction: Aside[float | None] = None
    delay_ms: Aside[float] = 0.0
    """How long a commit waits for others before it flushes (commit_delay)."""

    @property
    def are_prompt(self) -> bool:
        """Whether the storage is as fast as good storage can be, and nothing else delays them."""
        fastest_ms = min(self.flush_ms or self.at_most_ms, self.at_most_ms)
        return self.flushes_per_s is not None and fastest_ms <= PROMPT_MS and not self.are_delayed

    @property
    def are_delayed(self) -> bool:
        """Whether the delay takes most of the time."""
        return self.delay_ms > 0 and self.delay_ms >= self.at_most_ms / 2

    @property
    def is_delay_felt(self) -> bool:
        """Whether the delay is a part of the time worth naming."""
        return self.delay_ms > 0 and self.delay_ms >= self.at_most_ms * NOTICED

    @property
    def are_large(self) -> bool:
        """Whether they take time by what they write, rather than by their number."""
        return (self.flush_bytes or 0.0) >= MUCH_BYTES

    def seen(self, log: str) -> list[str]:
        """What was observed of them."""
        if self.flushes_per_s is None:
            return []
        lines = [
            f"{significant(self.flushes_per_s)} flushes per second; "
            f"{significant(self.commits_per_flush or 0.0)} commits per flush."
        ]
        if self.are_large:
            lines.append(
                f"A flush writes {size(self.flush_bytes or 0.0)} on average: a transaction writes "
                f"{size(self.bytes_per_transaction or 0.0)} of {log}."
            )
        if self.is_delay_felt:
            lines.append(
                f"Before each flush a commit waits {milliseconds(self.delay_ms)} for others "
                "(commit_delay), if enough others are active (commit_siblings)."
            )
        if self.are_prompt:
            lines.append(
                f"A flush takes at most {milliseconds(self.at_most_ms)}: the storage is fast, and "
                "this is the price of durable commits."
            )
        if self.flush_ms and self.bound_tps:
            allowed = bound_text(self.bound_tps, self.bound_range_tps, "commits per second")
            lines.append(
                f"A flush takes {milliseconds(self.flush_ms)}: one after the other, with as many "
                f"commits in each, they allow {allowed}."
            )
        return lines


class Promise(Struct, frozen=True, kw_only=True):
    """What a commit waits for: the log or logs, and the settings with which it would not.

    ``relaxed`` is empty if it waits for none already; ``reach`` is the scope of the setting.
    """

    log: str
    is_of_redo: bool = True
    is_of_binary_log: bool = False
    relaxed: str
    reach: str


class WalWrite(WaitClaim, frozen=True, kw_only=True):
    """Client time in waits for the log: its own, and behind locks whose holders wait for it."""

    own_share: float
    behind_locks_share: float
    event: str
    """The wait with most of it; empty if it has no name."""
    flushes: Flushes
    promise: Aside[Promise]

    @property
    def is_work(self) -> bool:
        """Whether it is a stage in which the server also works, and no commit has to wait."""
        return not self.promise.relaxed and self.event in _COMMIT_STAGES

    @property
    def title(self) -> str:
        if self.flushes.are_delayed:
            return "Commits wait for others to join them (commit_delay)"
        return f"Limited by {self.promise.log} writes and flushes"

    @property
    def severity(self) -> Severity:
        is_normal = self.flushes.are_prompt or self.is_work
        return "note" if is_normal else severity_of(self.share or 0.0)

    @property
    def certainty(self) -> Certainty:
        if self.is_work:
            return "hint"
        return "sure" if self.flushes.flush_ms else "likely"

    @property
    def summary(self) -> str:
        """Waits behind locks also count in a lock's finding: both may exceed 100 %."""
        to_storage = " to reach storage" if self.promise.relaxed else ""
        or_for_locks = ""
        if self.behind_locks_share >= NOTICED:
            or_for_locks = ", or for locks of transactions that do"
        most = f", most of it in {self.event}" if self.event else ""
        return (
            f"Transactions wait for the {self.promise.log}{to_storage}{or_for_locks}: "
            f"{percent(self.share or 0.0)} of client time{most}."
        )

    @property
    def seen(self) -> list[str]:
        behind_locks = ""
        if self.behind_locks_share >= NOTICED:
            part = percent(self.behind_locks_share)
            behind_locks = f", for {part} for locks whose holders do"
        work = (
            "Most of this is the time of the server's commit stage, in which it also works: what "
            "it waits for there is not known."
        )
        return [
            f"They wait for it directly for {percent(self.own_share)} of client time"
            f"{behind_locks}.",
            *self.flushes.seen(self.promise.log),
            *([work] if self.is_work else []),
        ]

    @property
    def why(self) -> str:
        if self.promise.relaxed:
            return (
                f"A commit returns when its {self.promise.log} is on storage, and its locks are "
                "held until then."
            )
        return (
            "No commit waits for storage here, but all sessions write their changes to one "
            f"{self.promise.log}, and wait while it is full or another session writes it."
        )

    @property
    def advice(self) -> list[str]:
        no_delay = (
            "Set commit_delay = 0; where it is meant to save flushes, about half the time of one "
            "flush (pg_test_fsync) is enough."
        )
        return [
            *([no_delay] if self.flushes.is_delay_felt else []),
            *([] if self.flushes.are_delayed else self._on_the_log()),
        ]

    def _on_the_log(self) -> list[str]:
        log = self.promise.log
        if not self.promise.relaxed:
            return [
                f"Write less {log}: fewer indexes, larger transactions.",
                f"Put the {log} on faster storage.",
            ]
        faster = f"Put the {log} on storage with faster flushes (a power-loss protected cache)."
        fewer = (
            "Reduce the number of flushes: more work per transaction, or more clients that share a "
            "flush."
        )
        less = (
            f"Write less {log} per transaction: fewer rows and indexes; and large values are "
            "written whole when a part of them changes (a document, a long text): split them."
        )
        replicas = (
            "Where there are replicas, leave the binary log as it is: a crash would lose "
            "transactions from it that the tables contain, and replicas would never receive them."
        )
        are_large = self.flushes.are_large
        return [
            *([less] if are_large else []),
            *([] if self.flushes.are_prompt else [faster]),
            *([] if are_large else [fewer]),
            "Where losing the last commits in a crash is acceptable (consistency is not at risk): "
            f"{self.promise.relaxed}, {self.promise.reach}.",
            *([replicas] if self.promise.is_of_binary_log else []),
        ]

    @property
    def refute(self) -> str:
        if self.flushes.are_delayed:
            return (
                "Run again with commit_delay = 0: throughput must rise, and this share must fall."
            )
        if self.promise.relaxed:
            return (
                f"On a test server, run again with {self.promise.relaxed}: this share must "
                "disappear."
            )
        return f"Run again with the {self.promise.log} on faster storage: this share must fall."


def look(run: Run) -> WalWrite | NotFound:
    """Report the waits that are charged to the WAL."""
    spent = client_time(run)
    share, own = spent.charged("wal"), spent.share("wal")
    if share < NOTICED:
        return NotFound(f"clients waited for the log for {percent(share)} of their time")
    promise = _promise(run)
    return WalWrite(
        share=share,
        own_share=own,
        behind_locks_share=share - own,
        event=_worst_event(spent),
        flushes=_flushes(run, own * spent.total) if promise.is_of_redo else Flushes(),
        promise=promise,
        gains=gains_of_waits_in(run),
    )


def _worst_event(spent: Budget) -> str:
    events = [part.wait_event for part in spent.parts if part.kind == "wal"]
    events += [charge.root_wait for charge in spent.charges if charge.root_kind == "wal"]
    return max(events, key=lambda event: spent.charged("wal", event), default="")


def _flushes(run: Run, waited_s: float) -> Flushes:
    """Empty if the server counts none; ``waited_s`` is the clients' total waiting time."""
    counted = _of_redo(run) if run.database.has("innodb") else _of_wal(run)
    if counted is None or not counted[0]:
        return Flushes()
    flushes, spent_ms = counted
    seconds, per_flush = measured_s(run), _writing(run) / flushes
    of_transaction = cost(costs(run), "wal_bytes")
    each_s = spent_ms / flushes / 1e3 if spent_ms else None
    return Flushes(
        flushes_per_s=flushes / seconds,
        commits_per_flush=per_flush,
        flush_ms=each_s * 1e3 if each_s else None,
        flush_bytes=of_transaction and of_transaction * committed(run) / flushes,
        bound_tps=commit_bound_tps(each_s, per_flush) if each_s else None,
        bound_range_tps=_bound_range_tps(run, spent_ms),
        at_most_ms=min(waited_s, seconds) / flushes * 1e3,
        bytes_per_transaction=of_transaction,
        delay_ms=_delay_ms(run),
    )


def _bound_range_tps(run: Run, spent_ms: float) -> tuple[float, float] | None:
    """From the time that the commits of each reading spent flushing."""
    timed = _flushing(run) if spent_ms else []
    if not timed:
        return None
    intervals = measured_intervals(run)
    done = Growth(intervals.end_s, intervals.end_s - intervals.begin_s, intervals.committed)
    ends_s, lengths_s = timed[0].time_s, timed[0].seconds
    committed = over(done, ends_s - lengths_s, ends_s)
    known = ~np.isnan(committed)
    flushing = np.sum([one.delta for one in timed], axis=0)
    each = ratio(flushing[known], committed[known])
    if each and run.database.has("late_counters"):
        each = widened(each, LAG_S / float(lengths_s[known].sum()))
    if each is None or each.low is None or each.high is None:
        return None
    bound_tps = _writing(run) / spent_ms * 1e3
    high = bound_tps * each.value / each.low if each.low else UNBOUNDED
    return bound_tps * each.value / each.high, high


def _flushing(run: Run) -> list[Growth]:
    """The time of flushes over time; the units do not matter."""
    if run.database.has("innodb"):
        timed = [(FileIo.sync_us, "innodb_log_file")]
    elif _grown(run, PgWal.wal_sync):
        timed = [(PgWal.wal_sync_time, "")]
    else:
        timed = [(PgIo.fsync_time, of) for of in _wal_of_io(run)]
    return [one for counter, of in timed if (one := growth(run, counter, of)) is not None]


def _delay_ms(run: Run) -> float:
    """Of PostgreSQL, in its own microseconds; 0 if it was not recorded."""
    facts = run.before or run.after or ServerFacts()
    return float(facts.settings.get("commit_delay", 0)) / 1e3


def _writing(run: Run) -> float:
    """Committed transactions of the scripts that write; of all if no statement shows it."""
    writers = {one.script for one in statements_of(run) if one.sql.written_table}
    done = [script.ok for script in full_record(run).scripts]
    if not writers or not sum(done):
        return committed(run)
    share: float = sum(done[script] for script in writers) / sum(done)
    return committed(run) * share


def _of_redo(run: Run) -> tuple[float, float] | None:
    """Timed if the performance schema counts them; otherwise each write of the log has its flush.

    MariaDB's does not since 10.8.
    """
    syncs, sync_us = (
        _grown(run, counter, "innodb_log_file") for counter in (FileIo.syncs, FileIo.sync_us)
    )
    if syncs:
        return syncs, sync_us / 1e3
    writes = growth_if_reported(run, GlobalStatus.Innodb_log_writes)
    return None if writes is None else (writes, 0.0)


def _of_wal(run: Run) -> tuple[float, float] | None:
    """From pg_stat_wal until 17, then from pg_stat_io."""
    if _grown(run, PgWal.wal_sync):
        return _grown(run, PgWal.wal_sync), _grown(run, PgWal.wal_sync_time)
    if not was_read(run, PgIo.source):
        return None
    of_wal = _wal_of_io(run)
    return (
        sum(_grown(run, PgIo.fsyncs, name) for name in of_wal),
        sum(_grown(run, PgIo.fsync_time, name) for name in of_wal),
    )


def _wal_of_io(run: Run) -> list[str]:
    found = objects(run, PgIo.source)
    return [name for name in found if name.split("/")[1:2] == ["wal"]]


def _grown(run: Run, counter: Counter, of: str | None = None) -> float:
    return growth_if_reported(run, counter, of) or 0.0


def _promise(run: Run) -> Promise:
    """From the settings; if they were not recorded, the server's default."""
    terms = run.database.terms
    facts = run.before or run.after or ServerFacts()
    level = facts.settings.get(terms.commit_setting, "")
    logs, relaxed = [], []
    if is_of_redo := level not in terms.commit_unflushed:
        logs.append(terms.log)
        relaxed.append(_changed(terms.commit_setting, terms.commit_relaxed, level))
    synced = facts.settings.get("sync_binlog", "0")
    if is_of_binary_log := is_on(facts, "log_bin") and synced != "0":
        logs.append("binary log")
        relaxed.append(_changed("sync_binlog", "0", synced))
    return Promise(
        log=" and ".join(logs) or terms.log,
        is_of_redo=is_of_redo,
        is_of_binary_log=is_of_binary_log,
        relaxed=" and ".join(relaxed),
        reach=terms.commit_setting_reach,
    )


def _changed(setting: str, to: str, level: str) -> str:
    return f"{setting}={to}{f' instead of {level}' if level else ''}"


RULE = Rule(
    id="wal_write",
    title="Limited by WAL writes and flushes",
    look=look,
    needs=frozenset({"log_flushes"}),
    accounts_for=frozenset({"wal", "lock"}),
)
