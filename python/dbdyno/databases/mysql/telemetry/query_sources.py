"""Sources of one query each: InnoDB's metrics, files, sizes, replication, session counts."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dbdyno.databases.connection import Connection
from dbdyno.databases.mysql.telemetry.facts.tables import used_tables
from dbdyno.databases.mysql.telemetry.names import table_name
from dbdyno.databases.mysql.telemetry.server_context import ServerContext
from dbdyno.databases.mysql.telemetry.sessions import IDLE, OWN
from dbdyno.databases.mysql.telemetry.transactions import transaction_ages_s
from dbdyno.databases.telemetry import ScriptStatement, SourceUnavailableError
from dbdyno.model.source import Numbers, Source

SIZES_EVERY_S = 5.0

METRICS = "select name, count from information_schema.innodb_metrics where {is_on}"
# Some that go up and down are not marked as such.
METRIC_LEVELS = METRICS + (
    " and (type = 'value' or name like 'os\\_pending\\_%%'"
    " or name in ('lock_row_lock_current_waits', 'ibuf_size'))"
)
IS_ON_MARIADB = "enabled = 1"
IS_ON_MYSQL = "status = 'enabled'"

# By type of file; the timers count picoseconds. What is neither read nor write is nearly all syncs.
FILES = """
    select substring_index(event_name, '/', -1) as object,
        count_read as `reads`, sum_timer_read / 1e6 as `read_us`,
        sum_number_of_bytes_read as `read_bytes`, count_write as `writes`,
        sum_timer_write / 1e6 as `write_us`, sum_number_of_bytes_write as `write_bytes`,
        count_misc as `syncs`, sum_timer_misc / 1e6 as `sync_us`
    from performance_schema.file_summary_by_event_name
    where count_star > 0 and (event_name like 'wait/io/file/innodb/%'
        or event_name like 'wait/io/file/sql/binlog')"""

SIZES = """
    select name, {size} as bytes from information_schema.{tablespaces}
    where name in %s"""

SESSIONS = "select id, command from information_schema.processlist where id <> connection_id()"


def metrics(connection: Connection, context: ServerContext) -> Source[Connection]:
    """Return the enabled metrics; the server itself marks which of them are levels."""
    is_on = IS_ON_MARIADB if context.is_mariadb else IS_ON_MYSQL
    levels = connection.execute(METRIC_LEVELS.replace("%%", "%").format(is_on=is_on)).fetchall()
    query = METRICS.format(is_on=is_on)
    return Source(
        name="innodb_metrics",
        read=lambda connection: {"": dict(connection.execute(query).fetchall())},
        levels=frozenset(name for name, _ in levels),
    )


def files(_connection: Connection, context: ServerContext) -> Source[Connection]:
    """Return the reads, writes and syncs with their times, by type of file."""
    if not context.has_schema:
        raise SourceUnavailableError(context.schema_lack)
    return Source(name="file_io", read=lambda connection: _rows(connection, FILES))


def sizes(
    _connection: Connection, context: ServerContext, statements: Sequence[ScriptStatement]
) -> Source[Connection]:
    """Return the file sizes of the tables that the statements name, including their indexes.

    The statements are examined at each reading, since some scripts generate theirs as they run.
    """
    if not context.sees_all:
        raise SourceUnavailableError(context.hidden)
    tablespaces = "innodb_sys_tablespaces" if context.is_mariadb else "innodb_tablespaces"
    query = SIZES.format(size="file_size", tablespaces=tablespaces)

    def read(connection: Connection) -> dict[str, Numbers]:
        names = [f"{context.database}/{table}" for table in used_tables(connection, statements)]
        if not names:
            return {}
        found = connection.execute(query, [names]).fetchall()
        return {
            table_name(context.database, name.replace("/", ".", 1)): {"bytes": size}
            for name, size in found
        }

    return Source(name="sizes", read=read, levels=frozenset({"bytes"}), every_s=SIZES_EVERY_S)


def named_rows(connection: Connection, query: str) -> list[dict[str, Any]]:
    """Return the rows of a query, each with its values by the names of their columns."""
    cursor = connection.execute(query)
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def replication(connection: Connection, context: ServerContext) -> Source[Connection]:
    """Return how far this server is behind its sources."""
    query = "show all slaves status" if context.is_mariadb else "show replica status"
    connection.execute(query)

    def read(connection: Connection) -> dict[str, Numbers]:
        followed = named_rows(connection, query)
        return {_channel(one): {"replay_lag_s": lag} for one in followed for lag in _lag(one)}

    return Source(name="replication", read=read, levels=frozenset({"replay_lag_s"}))


def _channel(status: dict[str, Any]) -> str:
    return str(status.get("Connection_name") or status.get("Channel_Name") or "source")


def _lag(status: dict[str, Any]) -> Iterable[float]:
    """Yield the lag; nothing while it is unknown."""
    for name in ("Seconds_Behind_Master", "Seconds_Behind_Source"):
        if status.get(name) is not None:
            yield status[name]


def sessions_in_sum(_connection: Connection, context: ServerContext) -> Source[Connection]:
    """Return the number of sessions, and the ages of their transactions."""
    names = "clients active idle_in_transaction oldest_transaction_s oldest_idle_in_transaction_s"

    def read(connection: Connection) -> dict[str, Numbers]:
        listed = connection.execute(SESSIONS).fetchall()
        clients = {int(number): command for number, command in listed if command not in OWN}
        numbers = _counted(clients)
        if context.sees_all:
            numbers |= _ages(clients, transaction_ages_s(connection, context))
        return {"": numbers}

    return Source(name="sessions", read=read, levels=frozenset(names.split()))


def _counted(clients: Mapping[int, str]) -> dict[str, float]:
    active = sum(command != IDLE for command in clients.values())
    return {"clients": len(clients), "active": active}


def _ages(clients: Mapping[int, str], ages_s: Mapping[int, int]) -> dict[str, float]:
    idle_s = [age_s for number, age_s in ages_s.items() if clients.get(number) == IDLE]
    return {
        "idle_in_transaction": len(idle_s),
        "oldest_transaction_s": max(ages_s.values(), default=0),
        "oldest_idle_in_transaction_s": max(idle_s, default=0),
    }


def _rows(connection: Connection, query: str) -> dict[str, Numbers]:
    """Return the rows of a query whose first column is the object."""
    cursor = connection.execute(query)
    names = [column[0] for column in cursor.description][1:]
    return {of: dict(zip(names, numbers, strict=True)) for of, *numbers in cursor.fetchall()}
