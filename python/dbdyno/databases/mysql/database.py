"""MySQL: what it does, and its words; MariaDB has the same, with another name."""

from dbdyno.databases.mysql.subsystems import SUBSYSTEMS
from dbdyno.model.counters import GlobalStatus
from dbdyno.model.database import Database, Isolation, Terms, WaitKinds

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
    # The binary log, if it is enabled, is as durable as the redo log.
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
    page_bytes=16384,
    session_bytes=1 << 20,
    sessions_are_threads=True,
    lacks_modes={"extended": "Use -M simple (text protocol) or -M prepared (binary protocol)."},
)
