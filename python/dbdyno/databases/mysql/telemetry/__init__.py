"""Telemetry of a MariaDB or MySQL server: cheap queries on a connection of its own.

On an idle MariaDB 10.11, the sources that are read every second took 1.5 ms together. A session
sample takes 1 ms with 16 clients, and disproportionately more if many wait in one queue (see
``transactions``): samples are therefore spaced.
"""

from dbdyno.databases.mysql.telemetry.facts import facts
from dbdyno.databases.mysql.telemetry.locks import conflicts
from dbdyno.databases.mysql.telemetry.log import MysqlLog
from dbdyno.databases.mysql.telemetry.session import begin, log_path, pid, task, tasks
from dbdyno.databases.mysql.telemetry.session_sample import sample_with_locks
from dbdyno.databases.mysql.telemetry.sources import sources
from dbdyno.databases.mysql.telemetry.standbys import StandbyLag
from dbdyno.databases.mysql.telemetry.threads import TASK_CLASSES
from dbdyno.databases.mysql.telemetry.transactions import REFRESHED_AFTER_S
from dbdyno.databases.telemetry import Telemetry

TELEMETRY = Telemetry(
    dialect="mysql",
    begin=begin,
    sources=sources,
    sample_with_locks=sample_with_locks,
    conflicts=conflicts,
    facts=facts,
    log_reader=MysqlLog,
    log_path=log_path,
    pid=pid,
    task=task,
    tasks=tasks,
    sample_interval_min_s=REFRESHED_AFTER_S,
    samples_stop_locking=True,
    sessions_are_processes=False,
    task_classes=TASK_CLASSES,
    standby_lag=StandbyLag,
)
