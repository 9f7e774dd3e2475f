"""PostgreSQL: what it does, and its words."""

from dbdyno.databases.postgresql.subsystems import SUBSYSTEMS
from dbdyno.model.counters import PgDatabase
from dbdyno.model.database import Database, Isolation, LossWindow, Terms, WaitKinds

TERMS = Terms(
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
    sessions_opened=PgDatabase.sessions,
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
)

WAIT_KINDS: WaitKinds = (
    ("", "", "cpu"),
    ("LWLock", "wal", "wal"),  # WALWrite, WALInsert; before 13 WALWriteLock, wal_insert
    ("IO", "wal", "wal"),  # WALSync, WALWrite; since 17 WalSync, WalWrite
    ("LWLock", "buffer_io", "io"),  # until 13: another session reads the page waited for
    ("LWLock", "bufferio", "io"),
    ("IPC", "bufferio", "io"),
    ("LWLock", "aio", "io"),  # since 18: another session submits or completes this one's reads
    # Sessions that a group leader takes through the list of transactions, or the commit log.
    ("IPC", "procarraygroup", "lwlock"),
    ("IPC", "xactgroup", "lwlock"),
    ("IPC", "cloggroup", "lwlock"),
    ("Timeout", "spindelay", "lwlock"),
    ("Lock", "", "lock"),
    ("LWLock", "", "lwlock"),
    ("IO", "", "io"),
    ("Client", "", "client_or_network"),
)

ISOLATION = Isolation(
    # It takes READ UNCOMMITTED for READ COMMITTED.
    levels=("read-committed", "repeatable-read", "serializable"),
    level="SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL {level}",
    read_only="SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY",
    level_parameter="default_transaction_isolation",
    read_only_parameter="default_transaction_read_only",
    in_force="select current_setting('transaction_isolation'), "
    "current_setting('transaction_read_only')",
)

DATABASE = Database(
    name="postgresql",
    title="PostgreSQL",
    protocol="postgresql",
    product="postgres",
    says=r"^PostgreSQL \d",
    # Others say that they are PostgreSQL, so that its drivers work with them.
    witness="select count(*) from pg_catalog.pg_stat_database",
    capabilities=frozenset(
        {
            "statistics_views",
            "log_flushes",
            "full_page_images",
            "checkpoints",
            "autovacuum",
            "hot_updates",
            "late_counters",
            "all_waits_named",
            "row_estimates",
            "statement_evictions",
            "parallel_queries",
            "function_indexes",
            "deadlock_timeout",
            "predicate_locks",
        }
    ),
    terms=TERMS,
    wait_kinds=WAIT_KINDS,
    subsystems=SUBSYSTEMS,
    isolation=ISOLATION,
    durability={
        "full": {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on"},
        "relaxed": {"fsync": "on", "synchronous_commit": "off", "full_page_writes": "on"},
        "none": {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"},
    },
    levels_permitted={
        "fsync": {"on": "full", "off": "none"},
        # Whatever it waits for on standbys, it waits for the disk of its own host.
        "synchronous_commit": {
            **dict.fromkeys(("on", "local", "remote_write", "remote_apply"), "full"),
            "off": "relaxed",
        },
        "full_page_writes": {"on": "full", "off": "none"},
        "tables": {"unlogged": "none"},
    },
    # "The maximum duration of the risk window is three times wal_writer_delay because the WAL
    # writer is designed to favor writing whole pages at a time" (manual, Asynchronous Commit).
    # Between its delays it writes, flushes, and waits for a CPU.
    loss_window=LossWindow(setting="wal_writer_delay", unit_ms=3, more_ms=400),
    page_bytes=8192,
    session_bytes=4 << 20,
)
