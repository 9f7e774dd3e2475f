"""Standbys of a private MariaDB: replicas that read its binary log, by global transaction id."""

from collections.abc import Mapping, Sequence

from dbdyno.databases.connection import Connection
from dbdyno.databases.mysql.server.folder import FOLLOWER
from dbdyno.errors import DbdynoError
from dbdyno.servers.cluster import LOOPBACK
from dbdyno.servers.product import Cluster, Replication
from dbdyno.servers.settings import Setting

WAITING = "rpl_semi_sync_master_enabled"
ON = ("on", "1", "true")
PROMOTION_MAX_S = 60
RECONNECT_S = 1

SETTINGS = (
    Setting("log_bin", "binlog", "standbys read it"),
    Setting("log_slave_updates", "ON", "a standby that takes over is set up as its primary was"),
    Setting("binlog_format", "ROW", "a standby has the rows that its primary has"),
    Setting("slave_parallel_threads", "4", "one thread applies less than many clients commit"),
)


def _of_standby(settings: Sequence[Setting]) -> list[Setting]:
    """Have it answer a primary that waits for it; it has nobody itself whom it could wait for."""
    own = [one for one in settings if one.name != WAITING]
    if any(one.name == WAITING and one.value.lower() in ON for one in settings):
        own.append(Setting("rpl_semi_sync_slave_enabled", "ON", "its primary waits for it"))
    return own


def _begin(primary: Connection, standby: Connection, folder: Cluster) -> None:
    """Let it read from where the primary is: both have begun with the same data."""
    standby.execute(f"set global gtid_slave_pos = '{_position(primary)}'")
    standby.execute(
        f"change master to master_host = '{LOOPBACK}', master_port = {folder.port}, "
        f"master_user = '{FOLLOWER}', master_password = '{folder.password}', master_ssl = 0, "
        f"master_use_gtid = slave_pos, master_connect_retry = {RECONNECT_S}"
    )
    standby.execute("set global read_only = on")
    standby.execute("start slave")


def _position(primary: Connection) -> str:
    return str(primary.execute("select @@global.gtid_binlog_pos").fetchone()[0])


def _has(standby: Connection, position: str, patience_s: int = 1) -> bool:
    wait = f"select master_gtid_wait('{position}', {patience_s})"
    return bool(standby.execute(wait).fetchone()[0] == 0)


def _status(standby: Connection) -> dict[str, str]:
    answer = standby.execute("show slave status")
    row = answer.fetchone()
    assert answer.description
    assert row
    return {column[0]: value for column, value in zip(answer.description, row, strict=True)}


def _trouble(standby: Connection) -> str:
    status = _status(standby)
    if status["Slave_IO_Running"] == status["Slave_SQL_Running"] == "Yes":
        return ""
    said = status["Last_SQL_Error"] or status["Last_IO_Error"]
    return said or "its primary does not answer"


def _promote(standby: Connection) -> None:
    """Let it apply what it has received, for a minute at most."""
    standby.execute("stop slave io_thread")
    status = _status(standby)
    if status["Slave_SQL_Running"] != "Yes":
        raise DbdynoError(
            "not_promoted",
            f"the standby has not applied everything: {status['Last_SQL_Error']}",
            "What it could not apply, its primary has: make that work on the standby, too.",
        )
    if not _has(standby, status["Gtid_IO_Pos"], PROMOTION_MAX_S):
        raise DbdynoError(
            "not_promoted",
            f"the standby has not applied within {PROMOTION_MAX_S} s what it had received",
            "Less load before it leaves less to apply.",
        )
    standby.execute("stop slave")
    standby.execute("reset slave all")
    standby.execute("set global read_only = off")


def _is_synchronous(settings: Mapping[str, str], standbys: int) -> bool:
    """Whether commits wait for the only standby: they never wait for more than one."""
    return settings.get(WAITING, "").lower() in ON and standbys == 1


def _waits(primary: Connection) -> bool:
    """Whether commits wait at present: they do not after a time limit, until it has caught up."""
    answer = primary.execute("show global status like 'Rpl_semi_sync_master_status'")
    return bool(answer.fetchone()[1] == "ON")


REPLICATION = Replication(
    copies_primary=False,
    over_tcp=True,
    settings=SETTINGS,
    of_standby=_of_standby,
    begin=_begin,
    position=_position,
    has=_has,
    trouble=_trouble,
    promote=_promote,
    is_synchronous=_is_synchronous,
    waits=_waits,
)
