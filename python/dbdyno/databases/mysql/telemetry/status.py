"""The server's own counters that matter for a load, read together.

They are listed by name because the server does not say which of its numbers are counters and which
are levels: an unknown level that fell would look like a restart of the server. Those that a product
or version does not have are simply absent.
"""

from dbdyno.databases.connection import Connection
from dbdyno.databases.mysql.telemetry.server_context import ServerContext
from dbdyno.model.source import Numbers, Source

COUNTERS = (
    "Aborted_clients", "Aborted_connects", "Binlog_bytes_written", "Binlog_cache_disk_use",
    "Binlog_commits", "Binlog_group_commits", "Bytes_received", "Bytes_sent", "Com_begin",
    "Com_commit", "Com_delete", "Com_insert", "Com_rollback", "Com_select", "Com_stmt_execute",
    "Com_stmt_prepare", "Com_update", "Connection_errors_max_connections", "Connections",
    "Created_tmp_disk_tables", "Created_tmp_files", "Created_tmp_tables", "Handler_delete",
    "Handler_read_first", "Handler_read_key", "Handler_read_last", "Handler_read_next",
    "Handler_read_prev", "Handler_read_rnd", "Handler_read_rnd_next", "Handler_update",
    "Handler_write", "Innodb_buffer_pool_pages_flushed", "Innodb_buffer_pool_pages_LRU_flushed",
    "Innodb_buffer_pool_read_ahead", "Innodb_buffer_pool_read_requests",
    "Innodb_buffer_pool_reads", "Innodb_buffer_pool_wait_free",
    "Innodb_buffer_pool_write_requests", "Innodb_data_fsyncs", "Innodb_data_read",
    "Innodb_data_reads", "Innodb_data_writes", "Innodb_data_written",
    "Innodb_dblwr_pages_written", "Innodb_dblwr_writes", "Innodb_deadlocks", "Innodb_log_waits",
    "Innodb_log_write_requests", "Innodb_log_writes", "Innodb_os_log_fsyncs",
    "Innodb_os_log_written", "Innodb_pages_created", "Innodb_pages_read", "Innodb_pages_written",
    "Innodb_row_lock_time", "Innodb_row_lock_waits", "Opened_table_definitions",
    "Opened_tables", "Queries", "Questions", "Rows_read", "Rows_sent", "Select_full_join",
    "Select_scan", "Slow_queries", "Sort_merge_passes", "Sort_rows", "Sort_scan",
    "Table_locks_waited", "Table_open_cache_misses", "Threads_created",
)  # fmt: skip
LEVELS = (
    "Innodb_buffer_pool_bytes_data", "Innodb_buffer_pool_bytes_dirty",
    "Innodb_buffer_pool_pages_data", "Innodb_buffer_pool_pages_dirty",
    "Innodb_buffer_pool_pages_free", "Innodb_buffer_pool_pages_total",
    "Innodb_data_pending_fsyncs", "Innodb_data_pending_reads", "Innodb_data_pending_writes",
    "Innodb_history_list_length", "Innodb_row_lock_current_waits", "Memory_used", "Open_tables",
    "Prepared_stmt_count", "Threads_cached", "Threads_connected", "Threads_running",
)  # fmt: skip


def global_status(_connection: Connection, _context: ServerContext) -> Source[Connection]:
    """Return the source, which covers the whole server, whatever database is used."""
    return Source(
        name="global_status",
        read=lambda connection: {"": status(connection, COUNTERS + LEVELS)},
        levels=frozenset(LEVELS),
    )


def status(connection: Connection, names: tuple[str, ...]) -> Numbers:
    """Return some of the server's numbers, under these names, as text."""
    wanted = {name.lower(): name for name in names}
    marks = ", ".join(["%s"] * len(wanted))
    query = f"show global status where variable_name in ({marks})"
    rows = connection.execute(query, list(wanted)).fetchall()
    return {wanted[name.lower()]: value for name, value in rows if value}
