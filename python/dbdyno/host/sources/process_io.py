"""What the processes of the run read from storage.

A source of its own because the kernel tells it to few: where it may not be read, that must
not look as if nothing had been read. What they write is not told here: the kernel charges
a page each time it becomes dirty, and more with it, which can be twenty times what is written.
"""

from dbdyno.host.watched import HostSource, WatchedHost
from dbdyno.model.source import Numbers


def read(host: WatchedHost) -> dict[str, Numbers]:
    """The bytes of each group; one that has ended is left out."""
    sums = {name: group.bytes_read(host.processes) for name, group in host.groups.items()}
    return {name: numbers for name, numbers in sums.items() if numbers}


def lack(host: WatchedHost) -> str | None:
    """Why the bytes are not told."""
    try:
        return None if read(host) else "this kernel does not count bytes per process"
    except PermissionError:
        return "only root and the server's own user may read its processes' I/O counters"


SOURCE = HostSource(
    name="process_io",
    read=read,
    watches="bytes that the server, the engine and dbdyno itself read from storage",
    objects="`server`, `engine`, `dbdyno`",
    counters=frozenset({"read_bytes"}),
    every_s=5.0,
    share_max=0.0002,  # it is wanted of the run as a whole
    files="/proc/PID/io as root or as the server's user",
    lack=lack,
)
