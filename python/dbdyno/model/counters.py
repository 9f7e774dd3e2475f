"""The sources of telemetry and their counters that analyses and rules read.

Telemetry records far more, by the names that the server or the kernel uses. What is read is
declared here once, under the same names: a misspelt counter is an error of the type checker, and
not one that no server has. ``tests/telemetry`` compares these with what the sources report.
"""

from typing import ClassVar, NamedTuple, NewType

SourceName = NewType("SourceName", str)
SERVER = SourceName("server")
"""Telemetry's name for the server itself, if it could not be queried."""
FACTS = SourceName("facts")
PROFILE = SourceName("profile")
"""Telemetry's name for the profile of the server's processes."""
SESSION_SAMPLES = SourceName("waits")
LOCK_SAMPLES = SourceName("locks")


class Counter(NamedTuple):
    """A counter, or a level, of a source."""

    source: SourceName
    name: str


class Counted:
    """A source: each attribute that a subclass declares is a counter of that name."""

    source: ClassVar[SourceName]

    def __init_subclass__(cls, *, source: str) -> None:
        """Give each declared counter its value."""
        cls.source = SourceName(source)
        for name in cls.__annotations__:
            setattr(cls, name, Counter(cls.source, name))


class Machine(Counted, source="machine"):
    """The host."""

    user_us: ClassVar[Counter]
    system_us: ClassVar[Counter]
    irq_us: ClassVar[Counter]
    idle_us: ClassVar[Counter]
    iowait_us: ClassVar[Counter]
    steal_us: ClassVar[Counter]
    processors: ClassVar[Counter]
    forks: ClassVar[Counter]


class Processes(Counted, source="processes"):
    """The processes of ``server``, ``engine`` and ``dbdyno``."""

    cpu_us: ClassVar[Counter]
    user_us: ClassVar[Counter]
    system_us: ClassVar[Counter]
    run_queue_us: ClassVar[Counter]
    voluntary_switches: ClassVar[Counter]
    involuntary_switches: ClassVar[Counter]
    count: ClassVar[Counter]
    stopped: ClassVar[Counter]


class ServerTasks(Counted, source="server_tasks"):
    """The server's processes or threads by class: ``client``, ``writer`` … (``TaskClass``)."""

    cpu_us: ClassVar[Counter]


class Busiest(Counted, source="busiest"):
    """Other processes of the host."""

    cpu_us: ClassVar[Counter]


class ControlGroup(Counted, source="control_group"):
    """The cgroups of ``server`` and ``engine``."""

    periods: ClassVar[Counter]
    throttled_periods: ClassVar[Counter]
    throttled_us: ClassVar[Counter]
    limit_cores: ClassVar[Counter]


class Sessions(Counted, source="sessions"):
    """The server's sessions in sum."""

    oldest_transaction_s: ClassVar[Counter]
    oldest_idle_in_transaction_s: ClassVar[Counter]
    horizon_age_transactions: ClassVar[Counter]
    standby_age_transactions: ClassVar[Counter]


class WalPosition(Counted, source="wal_position"):
    """PostgreSQL's WAL, or the redo log of MariaDB and MySQL."""

    bytes: ClassVar[Counter]
    segments: ClassVar[Counter]
    age_bytes: ClassVar[Counter]
    age_max_bytes: ClassVar[Counter]


class Replication(Counted, source="replication"):
    """How far each standby is behind its primary, on which it is read."""

    lag_bytes: ClassVar[Counter]
    replay_lag_s: ClassVar[Counter]


class Sizes(Counted, source="sizes"):
    """Tables and indexes."""

    bytes: ClassVar[Counter]


class Progress(Counted, source="progress"):
    """PostgreSQL's vacuums and the like, while they run."""

    total: ClassVar[Counter]


class PgDatabase(Counted, source="pg_stat_database"):
    """The database of the run."""

    xact_commit: ClassVar[Counter]
    blks_hit: ClassVar[Counter]
    blks_read: ClassVar[Counter]
    blk_read_time: ClassVar[Counter]
    tup_returned: ClassVar[Counter]
    tup_inserted: ClassVar[Counter]
    tup_updated: ClassVar[Counter]
    tup_deleted: ClassVar[Counter]
    temp_files: ClassVar[Counter]
    temp_bytes: ClassVar[Counter]
    deadlocks: ClassVar[Counter]
    sessions: ClassVar[Counter]


class PgUserTables(Counted, source="pg_stat_user_tables"):
    """By table."""

    seq_scan: ClassVar[Counter]
    seq_tup_read: ClassVar[Counter]
    idx_scan: ClassVar[Counter]
    n_tup_ins: ClassVar[Counter]
    n_tup_upd: ClassVar[Counter]
    n_tup_del: ClassVar[Counter]
    n_tup_hot_upd: ClassVar[Counter]
    n_tup_newpage_upd: ClassVar[Counter]
    n_live_tup: ClassVar[Counter]
    n_dead_tup: ClassVar[Counter]
    autovacuum_count: ClassVar[Counter]


class PgIoUserTables(Counted, source="pg_statio_user_tables"):
    """By table."""

    idx_blks_hit: ClassVar[Counter]
    idx_blks_read: ClassVar[Counter]
    heap_blks_hit: ClassVar[Counter]
    heap_blks_read: ClassVar[Counter]


class PgWal(Counted, source="pg_stat_wal"):
    """Until 17 with flushes, which then are in ``pg_stat_io``."""

    wal_records: ClassVar[Counter]
    wal_fpi: ClassVar[Counter]
    wal_bytes: ClassVar[Counter]
    wal_fpi_bytes: ClassVar[Counter]
    wal_sync: ClassVar[Counter]
    wal_sync_time: ClassVar[Counter]


class PgIo(Counted, source="pg_stat_io"):
    """By kind of process, object and context."""

    writes: ClassVar[Counter]
    write_bytes: ClassVar[Counter]
    fsyncs: ClassVar[Counter]
    fsync_time: ClassVar[Counter]


class PgBgwriter(Counted, source="pg_stat_bgwriter"):
    """Before ``pg_stat_io``, what others than the checkpointer wrote."""

    buffers_clean: ClassVar[Counter]
    buffers_backend: ClassVar[Counter]


class PgCheckpointer(Counted, source="pg_stat_checkpointer"):
    """By the names of version 17."""

    num_timed: ClassVar[Counter]
    num_requested: ClassVar[Counter]
    write_time: ClassVar[Counter]
    sync_time: ClassVar[Counter]
    buffers_written: ClassVar[Counter]


class PgStatements(Counted, source="pg_stat_statements"):
    """By statement of the run."""

    shared_blks_hit: ClassVar[Counter]
    shared_blks_read: ClassVar[Counter]
    shared_blks_dirtied: ClassVar[Counter]
    wal_records: ClassVar[Counter]
    wal_bytes: ClassVar[Counter]
    wal_fpi: ClassVar[Counter]


class FileIo(Counted, source="file_io"):
    """The performance schema's instrumented files of MariaDB and MySQL."""

    syncs: ClassVar[Counter]
    sync_us: ClassVar[Counter]
    read_us: ClassVar[Counter]


class InnodbMetrics(Counted, source="innodb_metrics"):
    """MySQL's own names for what MariaDB has in its global status."""

    lock_deadlocks: ClassVar[Counter]
    trx_rseg_history_len: ClassVar[Counter]


class GlobalStatus(Counted, source="global_status"):
    """``SHOW GLOBAL STATUS``."""

    Binlog_bytes_written: ClassVar[Counter]
    Connections: ClassVar[Counter]
    Created_tmp_disk_tables: ClassVar[Counter]
    Handler_delete: ClassVar[Counter]
    Handler_read_first: ClassVar[Counter]
    Handler_read_key: ClassVar[Counter]
    Handler_read_last: ClassVar[Counter]
    Handler_read_next: ClassVar[Counter]
    Handler_read_prev: ClassVar[Counter]
    Handler_read_rnd: ClassVar[Counter]
    Handler_read_rnd_next: ClassVar[Counter]
    Handler_update: ClassVar[Counter]
    Handler_write: ClassVar[Counter]
    Innodb_buffer_pool_read_requests: ClassVar[Counter]
    Innodb_buffer_pool_reads: ClassVar[Counter]
    Innodb_buffer_pool_wait_free: ClassVar[Counter]
    Innodb_data_fsyncs: ClassVar[Counter]
    Innodb_dblwr_pages_written: ClassVar[Counter]
    Innodb_deadlocks: ClassVar[Counter]
    Innodb_history_list_length: ClassVar[Counter]
    Innodb_log_writes: ClassVar[Counter]
    Innodb_pages_read: ClassVar[Counter]
    Innodb_pages_written: ClassVar[Counter]
    Queries: ClassVar[Counter]
    Questions: ClassVar[Counter]
    Sort_merge_passes: ClassVar[Counter]


COUNTERS: frozenset[Counter] = frozenset(
    value
    for kind in Counted.__subclasses__()
    for value in vars(kind).values()
    if isinstance(value, Counter)
)
"""All of them."""
