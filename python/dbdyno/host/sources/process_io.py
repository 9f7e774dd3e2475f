"""The bytes that the processes of the run read from storage.

This is a separate source because few may read it: missing permissions must not look as if nothing
had been read. Bytes written are not included: the kernel charges a page each time that it becomes
dirty, and more with it, which can be twenty times what is written.
"""

from dbdyno.host.group import ProcessGroup
from dbdyno.host.observed_host import HostSource, ObservedHost
from dbdyno.model.source import Numbers


def read(host: ObservedHost) -> dict[str, Numbers]:
    """Return the bytes of each group; one that has ended is left out."""
    return host.of_each_group(ProcessGroup.bytes_read)


def lack(host: ObservedHost) -> str | None:
    """Return why the bytes cannot be read; None if they can."""
    try:
        return None if read(host) else "this kernel does not count bytes per process"
    except PermissionError:
        return "only root and the server's own user may read its processes' I/O counters"


SOURCE = HostSource(
    name="process_io",
    read=read,
    watches="bytes that the server, the engine and dbdyno itself read from storage",
    objects="`server`, `further_servers` (standbys, and further targets), `engine`, `dbdyno`",
    counters=frozenset({"read_bytes"}),
    every_s=5.0,
    share_max=0.0002,  # it is needed only for the run as a whole
    files="/proc/PID/io as root or as the server's user",
    lack=lack,
)
