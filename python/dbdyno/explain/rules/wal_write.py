"""WAL write: transactions wait until their WAL is on storage.

Looks for: waits for the writing and flushing of WAL, at commits above all, and waits for row
locks whose holder was flushing at that instant.

Arithmetic: the share of the clients' time in such waits, each lock wait counted where the end of
its chain is. With f seconds a flush and commits one after the other no client makes more than
1/f a second; group commit lets those who come meanwhile share the next one: commits over
flushes says how many did. One flush is under way at a time, so it takes at most the time in which
anybody waited, over the number of flushes. Storage that answers within a millisecond is not the
cause of anything: that wait is the price of durable commits, how a closed loop of short
transactions ends, and never more than a note. Where commits are set not to wait for storage none
of that is said, and only waits are counted.

MariaDB and MySQL write a redo log; there the stage of a commit counts as such a wait, too.

Source: the PostgreSQL manual on WAL configuration and asynchronous commit; the MySQL manual on
innodb_flush_log_at_trx_commit; bounds as in the time budget of a closed loop.

Wrong when: storage is shared with checkpoints or others and slow only for that (see the rules on
checkpoints, and the disk's latency).
"""

from msgspec import Struct

from dbdyno.analysis.bounds import commit_bound_tps
from dbdyno.analysis.budget import Budget
from dbdyno.analysis.looks import measured_s
from dbdyno.analysis.protocol import MYSQL
from dbdyno.analysis.readings import objects, was_read
from dbdyno.explain.case import Case
from dbdyno.explain.databases import Database, database_of
from dbdyno.explain.needs import client_time, committed, grown_if_told
from dbdyno.explain.rule import NOTICED, NotFound, Outcome, Rule, found, severity_of
from dbdyno.explain.sql import written_table
from dbdyno.explain.words import gain_of_waits
from dbdyno.model.recording import rows
from dbdyno.words import milliseconds, percent, significant, tps

# Flash with a cache that survives a power cut answers in 0.05 to 0.5 ms, without one in 1 to 5, a
# disk in 5 to 15.
PROMPT_S = 1e-3


class _Flushes(Struct, frozen=True, kw_only=True):
    """Flushes of the measured part; the time of one where the server measures it."""

    per_s: float
    commits_per_flush: float
    """Of transactions that write: others have nothing to flush."""
    each_s: float | None
    each_at_most_s: float

    @property
    def are_prompt(self) -> bool:
        """Whether the storage does what good storage can."""
        return min(self.each_s or self.each_at_most_s, self.each_at_most_s) <= PROMPT_S


def look(case: Case) -> Outcome:
    """What is charged to the WAL."""
    spent = client_time(case)
    share, own = spent.charged("wal"), spent.share("wal")
    if share < NOTICED:
        return NotFound(f"clients waited for the log for {percent(share)} of their time")
    database = database_of(case)
    is_durable = _commit_level(case) not in database.commit_unflushed
    flushes = _flushes(case, own * spent.total) if is_durable else None
    worst = _worst_event(spent)
    is_normal = flushes is not None and flushes.are_prompt
    return found(
        f"Transactions wait for the {database.log}{' to be on storage' if is_durable else ''}: "
        f"{percent(share)} of the clients' time{', most of it in ' + worst if worst else ''}.",
        title=f"{database.log[0].upper()}{database.log[1:]} write and flush bound",
        share=share,
        severity="note" if is_normal else severity_of(share),
        share_of="client time",
        certainty="sure" if flushes and flushes.each_s else "likely",
        evidence={
            "own_share": own,
            "behind_locks_share": share - own,
            "event": worst,
            "flushes_per_s": flushes.per_s if flushes else None,
            "commits_per_flush": flushes.commits_per_flush if flushes else None,
            "flush_ms": flushes.each_s * 1e3 if flushes and flushes.each_s else None,
        },
        seen=[
            f"In {percent(own)} they wait for it themselves, in {percent(share - own)} for locks "
            "whose holders do.",
            *(_flushes_told(flushes) if flushes else []),
        ],
        why=_why(database, is_durable),
        advice=_advice(database, _commit_level(case), is_durable),
        gain=gain_of_waits(case, share),
        refute=_refute(database, is_durable),
    )


def _worst_event(spent: Budget) -> str:
    events = [part.wait_event for part in spent.parts if part.kind == "wal"]
    events += [charge.root_wait for charge in spent.charges if charge.root_kind == "wal"]
    return max(events, key=lambda event: spent.charged("wal", event), default="")


def _flushes(case: Case, waited_s: float) -> _Flushes | None:
    """None where the server does not count them, or had none; clients waited so long in all."""
    counted = _counted(case)
    if counted is None or not counted[0]:
        return None
    flushes, spent_ms = counted
    seconds = measured_s(case.recording)
    return _Flushes(
        per_s=flushes / seconds,
        commits_per_flush=_writing(case) / flushes,
        each_s=spent_ms / flushes / 1e3 if spent_ms else None,
        each_at_most_s=min(waited_s, seconds) / flushes,
    )


def _writing(case: Case) -> float:
    """Committed transactions of the scripts that write; of all where no statement shows it."""
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
    """Timed where the performance schema is on; else each write of the log has its flush."""
    if was_read(case.recording, "file_io"):
        names = ("syncs", "sync_us")
        syncs, sync_us = (_grown(case, "file_io", name, "innodb_log_file") for name in names)
        return syncs, sync_us / 1e3
    writes = grown_if_told(case, "global_status", "Innodb_log_writes")
    return None if writes is None else (writes, 0.0)


def _of_wal(case: Case) -> tuple[float, float] | None:
    """Of pg_stat_wal until 17, then of pg_stat_io."""
    recording = case.recording
    if _grown(case, "pg_stat_wal", "wal_sync"):
        return _grown(case, "pg_stat_wal", "wal_sync"), _grown(case, "pg_stat_wal", "wal_sync_time")
    if not was_read(recording, "pg_stat_io"):
        return None
    of_wal = [name for name in objects(recording, "pg_stat_io") if name.split("/")[1:2] == ["wal"]]
    return (
        sum(_grown(case, "pg_stat_io", "fsyncs", name) for name in of_wal),
        sum(_grown(case, "pg_stat_io", "fsync_time", name) for name in of_wal),
    )


def _grown(case: Case, source: str, name: str, of: str | None = None) -> float:
    return grown_if_told(case, source, name, of) or 0.0


def _flushes_told(flushes: _Flushes) -> list[str]:
    shared = f"{significant(flushes.commits_per_flush)} commits share one"
    said = [f"{significant(flushes.per_s)} flushes a second; {shared}."]
    if flushes.are_prompt:
        said.append(
            f"A flush takes {milliseconds(flushes.each_at_most_s * 1e3)} at most: the storage is "
            "as fast as storage gets, and this is the price of durable commits."
        )
    if flushes.each_s:
        bound = commit_bound_tps(flushes.each_s, flushes.commits_per_flush)
        said.append(
            f"A flush takes {milliseconds(flushes.each_s * 1e3)}: one after the other, with as "
            f"many commits in each, they allow {tps(bound)} commits a second."
        )
    return said


def _commit_level(case: Case) -> str:
    """What a commit waits for, as the setting says; empty where it was not recorded."""
    facts = case.before or case.after
    return facts.settings.get(database_of(case).commit_setting, "") if facts else ""


def _why(database: Database, is_durable: bool) -> str:
    if is_durable:
        return (
            f"A commit is answered when its {database.log} is on storage, and its locks are held "
            "until then."
        )
    return (
        f"No commit waits for storage here, but all put what they change into one {database.log}, "
        "and wait while that is full or somebody else writes it."
    )


def _refute(database: Database, is_durable: bool) -> str:
    if is_durable:
        return (
            f"Run again with {database.commit_setting}={database.commit_relaxed} on a test "
            "server: this share must vanish."
        )
    return f"Run again with the {database.log} on faster storage: this share must fall."


def _advice(database: Database, level: str, is_durable: bool) -> list[str]:
    if not is_durable:
        return [
            f"Write less {database.log}: fewer indexes, larger transactions.",
            f"Put the {database.log} on faster storage.",
        ]
    return [
        f"Put the {database.log} on faster storage, one whose flushes are short (power-loss "
        "protected cache).",
        "Commit less often: more work in a transaction, or more clients that share a flush.",
        "Where losing the last moments in a crash is allowed (never consistency): "
        f"{database.commit_setting}={database.commit_relaxed}"
        f"{f' instead of {level}' if level else ''}, per transaction where you can.",
    ]


RULE = Rule(
    id="wal_write",
    title="WAL write and flush bound",
    look=look,
    accounts_for=frozenset({"wal", "lock"}),
)
