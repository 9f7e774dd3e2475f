"""MySQL: what it does, and its words; MariaDB has the same, with another name."""

from dbdyno.databases.mysql.subsystems import SUBSYSTEMS
from dbdyno.model.counters import GlobalStatus
from dbdyno.model.database import Database, Isolation, LossWindow, Terms, WaitKinds

TERMS = Terms(
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
    sessions_opened=GlobalStatus.Connections,
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
    against_conflicts=(
        "Lock the rows to be changed in the first statement of the transaction (SELECT … FOR "
        "UPDATE), so that its snapshot is not older than the locks; or run at READ COMMITTED.",
    ),
)

WAIT_KINDS: WaitKinds = (
    ("", "", "cpu"),
    ("Lock", "", "lock"),  # on a row, or a table's definition
    ("Commit", "", "wal"),  # the stage of a commit; sessions on a CPU look the same
    ("Kernel", "fsync", "wal"),
    ("Kernel", "fdatasync", "wal"),
    ("Kernel", "pread", "io"),
    ("Kernel", "pwrite", "io"),
    ("Kernel", "io_", "io"),
    ("Kernel", "futex", "lwlock"),  # usually a latch; what it protects is not known
    ("io/file", "innodb/innodb_log_file", "wal"),
    ("io/file", "sql/binlog", "wal"),
    ("io/file", "", "io"),
    ("io/socket", "", "client_or_network"),
    ("synch/cond", "", "other_wait"),
    ("synch/mutex", "", "lwlock"),
    ("synch/rwlock", "", "lwlock"),
    ("synch/sxlock", "", "lwlock"),
    ("Client", "", "client_or_network"),
)

ISOLATION = Isolation(
    levels=("read-uncommitted", "read-committed", "repeatable-read", "serializable"),
    level="SET SESSION TRANSACTION ISOLATION LEVEL {level}",
    read_only="SET SESSION TRANSACTION READ ONLY",
    in_force="select @@session.transaction_isolation, @@session.transaction_read_only",
)

DATABASE = Database(
    name="mysql",
    title="MySQL",
    protocol="mysql",
    product="mysql",
    says=r"^(?:MySQL )?\d+\.\d+\.\d+",
    witness="select count(*) from information_schema.engines where engine = 'InnoDB'",
    capabilities=frozenset(
        {"log_flushes", "innodb", "purge", "redo_capacity", "gap_locks", "replanning"}
    ),
    terms=TERMS,
    wait_kinds=WAIT_KINDS,
    subsystems=SUBSYSTEMS,
    isolation=ISOLATION,
    durability={
        "full": {
            "innodb_flush_log_at_trx_commit": "1",
            "sync_binlog": "1",
            "innodb_doublewrite": "ON",
        },
        "relaxed": {
            "innodb_flush_log_at_trx_commit": "2",
            "sync_binlog": "0",
            "innodb_doublewrite": "ON",
        },
        "none": {
            "innodb_flush_log_at_trx_commit": "0",
            "sync_binlog": "0",
            "innodb_doublewrite": "OFF",
        },
    },
    levels_permitted={
        # At 3, MariaDB flushes once more, as its version 5.5 did. At 0, the log is also written
        # only as often as it is flushed: the same is lost with the host, and with the process.
        "innodb_flush_log_at_trx_commit": {
            "1": "full",
            "3": "full",
            "2": "relaxed",
            "0": "relaxed",
        },
        # Any number but 1 leaves the end of the binary log to the kernel, for a while at least.
        # At its start, InnoDB undoes what is prepared and not in the binary log: commits that are
        # newer than the last flush of its own.
        "sync_binlog": {"1": "full", "other": "relaxed"},
        # MySQL's DETECT_ONLY recovers no torn page. MariaDB's `fast` never flushes data files.
        "innodb_doublewrite": {
            "on": "full",
            "detect_and_recover": "full",
            "off": "none",
            "detect_only": "none",
            "fast": "none",
        },
        # Those two omit flushes of the data files or all of them.
        "innodb_flush_method": {"nosync": "none", "littlesync": "none", "other": "full"},
    },
    durability_limits={
        "relaxed": "after a crash of the host, a binary log may end before InnoDB's log"
    },
    # MariaDB looks once a second whether so many seconds have passed, and counts whole ones
    # (srv_sync_log_buffer_in_background): up to a second more. MySQL is punctual (log_flusher).
    loss_window=LossWindow(setting="innodb_flush_log_at_timeout", unit_ms=1000, more_ms=1000),
    page_bytes=16384,
    session_bytes=1 << 20,
    sessions_are_threads=True,
    lacks_modes={"extended": "Use -M simple (text protocol) or -M prepared (binary protocol)."},
)
