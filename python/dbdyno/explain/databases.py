"""The terms of each database: settings, commands and counters with the same meaning.

A rule whose arithmetic is the same for all databases takes its terms from here. What only one kind
of database has is part of its rule.
"""

from msgspec import Struct

from dbdyno.analysis.protocol import MYSQL, POSTGRESQL
from dbdyno.explain.case import Case


class Database(Struct, frozen=True, kw_only=True):
    """The terms of one kind of database; counters are (source, name)."""

    log: str
    """The log that is written before a commit is acknowledged."""
    commit_setting: str
    commit_relaxed: str
    """The recommended value at which a commit does not wait for its log."""
    commit_setting_reach: str
    """The scope in which the setting can be set."""
    commit_unflushed: frozenset[str]
    """All such values."""
    cache_setting: str
    cache_usual: str
    """Its usual size on production servers."""
    read_timing: str
    """The setting that enables timing of reads."""
    internal_lock: str
    internal_locks: str
    session: str
    """What the server creates for each connection."""
    sessions_opened: tuple[str, str]
    pooler: str
    end_session: str
    """How to find and end a session that holds locks."""
    end_by_itself: str
    """The settings that end such transactions."""
    online_ddl: str
    """How to run DDL without locking others out."""
    create_index: str
    full_reads: frozenset[str]
    """Plan steps that read a whole table."""
    put_off: str
    """Work that the server does rarely, and then in bulk."""


DATABASES = {
    POSTGRESQL: Database(
        log="WAL",
        commit_setting="synchronous_commit",
        commit_relaxed="off",
        commit_setting_reach="per transaction where possible",
        commit_unflushed=frozenset({"off"}),
        cache_setting="shared_buffers",
        cache_usual="about a quarter of memory",
        read_timing="track_io_timing",
        internal_lock="LWLock",
        internal_locks="LWLocks",
        session="process",
        sessions_opened=("pg_stat_database", "sessions"),
        pooler="PgBouncer",
        end_session="Find it (pg_stat_activity with pg_blocking_pids()) and end it: COMMIT, or "
        "pg_terminate_backend(pid).",
        end_by_itself="idle_in_transaction_session_timeout for the blocker, lock_timeout for the "
        "waiters",
        online_ddl="Run DDL in the form that lets others write (CREATE INDEX CONCURRENTLY, REINDEX "
        "CONCURRENTLY, pg_repack instead of VACUUM FULL), or while there is little load.",
        create_index="CREATE INDEX CONCURRENTLY ON {table} ({key});",
        full_reads=frozenset({"Seq Scan", "Parallel Seq Scan"}),
        put_off="checkpoints, autovacuum",
    ),
    MYSQL: Database(
        log="redo log",
        commit_setting="innodb_flush_log_at_trx_commit",
        commit_relaxed="2",
        commit_setting_reach="for the whole server",
        commit_unflushed=frozenset({"0", "2"}),
        cache_setting="innodb_buffer_pool_size",
        cache_usual="half of memory or more",
        read_timing="performance_schema",
        internal_lock="InnoDB latch",
        internal_locks="InnoDB latches",
        session="thread",
        sessions_opened=("global_status", "Connections"),
        pooler="ProxySQL, MaxScale",
        end_session="Find it (information_schema.innodb_trx, by trx_started) and end it: COMMIT, "
        "or KILL its trx_mysql_thread_id.",
        end_by_itself="innodb_lock_wait_timeout for the waiters, in MariaDB also "
        "idle_transaction_timeout for the blocker",
        online_ddl="Run DDL in the form that lets others write (ALGORITHM=INPLACE, LOCK=NONE; "
        "gh-ost, pt-online-schema-change), or while there is little load.",
        create_index="CREATE INDEX {table}_{name} ON {table} ({key});",
        full_reads=frozenset({"ALL", "index"}),
        put_off="flushing because the redo log fills up, lagging purge",
    ),
}


def database_of(case: Case) -> Database:
    """The terms of the run's database; PostgreSQL's for one that is not known here."""
    return DATABASES.get(case.protocol, DATABASES[POSTGRESQL])
