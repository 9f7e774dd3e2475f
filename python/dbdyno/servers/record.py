"""The record of a server that dbdyno started, by which a later dbdyno finds or removes it."""

from pathlib import Path

import msgspec
from msgspec import Struct

from dbdyno.databases.connecting import inspecting
from dbdyno.errors import DbdynoError
from dbdyno.home import not_a_file
from dbdyno.servers.base import Server, Use
from dbdyno.servers.processes import ProcessMark
from dbdyno.servers.product import Cluster
from dbdyno.servers.settings import Setting
from dbdyno.servers.spec import Kind

FILE = "server.json"
LOG = "log.txt"


class ServerRecord(Struct, frozen=True):
    """The contents of ``server.json``. ``conninfo`` may contain a password: the file is 0600."""

    process: ProcessMark
    product: Kind
    version: str
    stop_signal: int
    conninfo: str
    folder: str
    data: str
    settings: tuple[Setting, ...]

    @property
    def log(self) -> Path:
        """The server's log file."""
        return Path(self.folder, LOG)


def write_record(cluster: Cluster, process: ProcessMark) -> ServerRecord:
    """Write the record of a server that has started."""
    record = ServerRecord(
        process=process,
        product=cluster.blueprint.product.name,
        version=cluster.blueprint.binaries.version,
        stop_signal=cluster.blueprint.product.stop_signal,
        conninfo=cluster.target,
        folder=str(cluster.folder),
        data=str(cluster.data),
        settings=cluster.blueprint.settings,
    )
    scratch = cluster.folder / f"{FILE}.new"
    scratch.touch(0o600)
    scratch.write_bytes(msgspec.json.encode(record))
    scratch.rename(cluster.folder / FILE)  # atomic
    return record


def read_record(folder: Path) -> ServerRecord | None:
    """Return the record in a server's folder; None if there is none that can be read."""
    if not_a_file(folder / FILE):
        return None
    try:
        return msgspec.json.decode((folder / FILE).read_bytes(), type=ServerRecord)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None


def server_of(use: Use, record: ServerRecord) -> Server:
    """Return the running server that the record describes. It has no stopper yet.

    Refuses a record that was changed, so that another server answers at its address: that one would
    be vacuumed and restarted like ours.
    """
    with inspecting(record.conninfo) as (driver, connection):
        endpoint, answering = driver.endpoint_of(connection), driver.process_id(connection)
    if answering not in {None, record.process.pid}:
        raise DbdynoError(
            "changed_record",
            f"{Path(record.folder, FILE)} leads to another server: process {answering} answers, "
            f"and not {record.process.pid}",
            "use that server with --target, and remove the folder yourself once nothing runs in it",
        )
    return Server(
        kind=use,
        conninfo=record.conninfo,
        resolved=endpoint,
        process_id=record.process.pid,
        data_directory=Path(record.data),
        log_path=record.log,
        settings=record.settings,
    )
