"""Settings that affect a load, in the server's own units, default or not.

Telemetry's session sets some of them for itself: what counts is what a new session gets.
"""

from psycopg import Connection

# Patterns for LIKE. Settings that a version does not have, or that the role may not see, are left
# out.
PATTERNS = (
    "autovacuum%", "bgwriter\\_%", "block_size", "checkpoint\\_%", "commit_delay",
    "commit_siblings", "cpu\\_%\\_cost", "data_checksums", "deadlock_timeout",
    "debug_assertions", "default_statistics_target", "default_transaction_isolation",
    "effective_cache_size", "effective_io_concurrency", "enable\\_%", "fsync",
    "full_page_writes", "huge_pages", "huge_pages_status",
    "idle_in_transaction_session_timeout", "io_method", "io_workers", "jit", "jit\\_%\\_cost",
    "log_lock_waits", "log_min_duration_statement", "log_statement", "log_duration",
    "maintenance_work_mem", "max_connections", "max_parallel_workers%", "max_wal_size",
    "max_worker_processes", "min_wal_size", "plan_cache_mode", "random_page_cost",
    "reserved_connections", "seq_page_cost", "shared_buffers", "shared_preload_libraries",
    "superuser_reserved_connections", "synchronous_commit", "synchronous_standby_names",
    "temp_buffers", "track_io_timing", "track_wal_io_timing", "vacuum\\_%", "wal_block_size",
    "wal_buffers", "wal_compression", "wal_level", "wal_segment_size", "wal_sync_method",
    "wal_writer\\_%", "work_mem",
)  # fmt: skip

SETTINGS = """
    select s.name, s.reset_val, coalesce(s.unit, '')
    from pg_settings s where s.name like any(%s::text[]) order by s.name"""


def settings(connection: Connection) -> tuple[dict[str, str], dict[str, str]]:
    """Return their values, and the units of those that have one."""
    rows = connection.execute(SETTINGS, [list(PATTERNS)]).fetchall()
    values = {name: value for name, value, _ in rows}
    return values, {name: unit for name, _, unit in rows if unit}
