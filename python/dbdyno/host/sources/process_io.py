"""What the processes of the run read from storage and wrote to it.

A source of its own because the kernel tells it to few: where it may not be read, that must
not look as if nothing had been read or written.
"""

from dbdyno.host.watched import HostSource, WatchedHost
from dbdyno.model.source import Numbers


def read(host: WatchedHost) -> dict[str, Numbers]:
    """The bytes of each group; one that has ended is left out."""
    sums = {name: group.transferred(host.processes) for name, group in host.groups.items()}
    return {name: numbers for name, numbers in sums.items() if numbers}


def lack(host: WatchedHost) -> str | None:
    """Why the bytes are not told."""
    try:
        return None if read(host) else "this kernel does not count bytes of single processes"
    except PermissionError:
        return "only root and the server's own user may read how much its processes read and wrote"


SOURCE = HostSource(
    name="process_io",
    read=read,
    watches="bytes that the server, the engine and dbdyno itself read from storage and wrote to "
    "it, as the kernel charges them",
    objects="`server`, `engine`, `dbdyno`",
    counters=frozenset({"read_bytes", "write_bytes"}),
    files="/proc/PID/io as root or as the server's user",
    lack=lack,
)
