"""What the server's threads are there for, by the names that they give themselves.

MariaDB names its threads only in newer versions: until then the threads that serve sessions are
known from the server, and the others are not told apart.
"""

from dbdyno.databases.telemetry import TaskClasses

TASK_CLASSES: TaskClasses = (
    ("cleanup", r"^(?:ib_srv_purge|ib_srv_wkr|purge)"),
    ("writer", r"^(?:ib_pg_flush|page_clea|ib_log_checkpt|ib_dict_stats|ib_buf_dump)"),
    ("wal", r"^(?:ib_log_|ib_archiver|log_)"),
    ("worker", r"^(?:ib_io_|ib_par_|ib_tpool|tpool|io_)"),
    ("foreign", r"^(?:connection|one_connection)"),
)
