"""Settings that affect a load, default or not, and the units of those that have one."""

from dbdyno.databases.connection import Connection

SIZES = (
    "innodb_buffer_pool_size", "innodb_log_buffer_size", "innodb_log_file_size",
    "innodb_page_size", "innodb_redo_log_capacity", "join_buffer_size", "max_heap_table_size",
    "query_cache_size", "read_rnd_buffer_size", "sort_buffer_size", "tmp_table_size",
)  # fmt: skip
OTHERS = (
    "binlog_format", "general_log", "innodb_adaptive_flushing", "innodb_adaptive_hash_index",
    "innodb_autoinc_lock_mode", "innodb_change_buffering", "innodb_checksum_algorithm",
    "innodb_deadlock_detect", "innodb_doublewrite", "innodb_fill_factor", "innodb_flush_method",
    "innodb_flush_neighbors", "innodb_flush_log_at_trx_commit", "innodb_io_capacity",
    "innodb_io_capacity_max", "innodb_lock_wait_timeout", "innodb_log_files_in_group",
    "innodb_lru_scan_depth", "innodb_max_dirty_pages_pct", "innodb_max_dirty_pages_pct_lwm",
    "innodb_print_all_deadlocks", "innodb_purge_threads", "innodb_thread_concurrency", "log_bin",
    "long_query_time", "max_connections", "performance_schema", "query_cache_type",
    "slow_query_log", "sync_binlog", "table_open_cache", "thread_cache_size", "thread_handling",
    "transaction_isolation", "tx_isolation", "version",
)  # fmt: skip
UNITS = dict.fromkeys(SIZES, "B") | {"innodb_lock_wait_timeout": "s", "long_query_time": "s"}


def settings(connection: Connection) -> dict[str, str]:
    """Return their values; those that a version does not have are left out."""
    names = (*SIZES, *OTHERS)
    marks = ", ".join(["%s"] * len(names))
    query = f"show global variables where variable_name in ({marks})"
    return dict(connection.execute(query, names).fetchall())
