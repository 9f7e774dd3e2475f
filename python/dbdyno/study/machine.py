"""What a study may take of this machine, looked up once."""

import os
import resource
from pathlib import Path

from msgspec import Struct

from dbdyno.home import home
from dbdyno.host import cpu
from dbdyno.host.disk import free_bytes
from dbdyno.host.file_limit import DESCRIPTORS_SPARE
from dbdyno.servers.settings import this_machine


class Machine(Struct, frozen=True, kw_only=True):
    """The limits that a plan is held against."""

    memory_bytes: int
    disk_free_bytes: int
    clients_max: int
    """As many connections as the limit on open files admits."""
    numa_nodes: int
    cores: int


def look() -> Machine:
    """This machine now."""
    existing = next(folder for folder in (home(), *home().parents) if folder.exists())
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    return Machine(
        memory_bytes=this_machine(existing).memory_bytes,
        disk_free_bytes=free_bytes(existing),
        clients_max=2**31 if files == resource.RLIM_INFINITY else files - DESCRIPTORS_SPARE,
        numa_nodes=cpu.numa_nodes(Path("/")),
        cores=len(os.sched_getaffinity(0)),
    )
