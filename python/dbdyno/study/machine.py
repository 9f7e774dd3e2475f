"""The resources of this host that a study may use, determined once."""

import os
from pathlib import Path

from msgspec import Struct

from dbdyno.errors import DbdynoError
from dbdyno.home import home
from dbdyno.host import cpu
from dbdyno.host.describe import clients_admitted, files_max
from dbdyno.host.disk import free_bytes
from dbdyno.servers.privileges import server_identity
from dbdyno.servers.server_folders import place_for
from dbdyno.servers.settings import this_machine

DISK_SPARE_BYTES = 100_000_000
"""What must be free beside the data: for logs, and for what runs record."""


class Machine(Struct, frozen=True, kw_only=True):
    """The limits that a plan is checked against."""

    memory_bytes: int
    disk_free_bytes: int
    clients_max: int
    """Number of connections that the limit on open files admits."""
    numa_nodes: int
    cores: int


def read_machine() -> Machine:
    """Return the present limits of this host."""
    place = place_for("private", server_identity())
    files = files_max()
    return Machine(
        memory_bytes=this_machine(place).memory_bytes,
        disk_free_bytes=disk_free_bytes(),
        clients_max=2**31 if files is None else clients_admitted(files),
        numa_nodes=cpu.numa_nodes(Path("/")),
        cores=len(os.sched_getaffinity(0)),
    )


def disk_free_bytes() -> int:
    """Free space for runs and for servers, which may be on another disk."""
    place = place_for("private", server_identity())
    return min(free_bytes(home()), free_bytes(place))


def disk_full(message: str) -> DbdynoError:
    """Return the error that stops a study."""
    return DbdynoError("disk_full", message, "Free some space, then continue.", exit_code=2)
