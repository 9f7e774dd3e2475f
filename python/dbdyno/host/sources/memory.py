"""Main memory: how much is available, and how much waits to be written."""

from dbdyno.host import files
from dbdyno.host.observed_host import HostSource, ObservedHost
from dbdyno.model.source import Numbers

_FIELDS = {
    "available_bytes": "MemAvailable",
    "dirty_bytes": "Dirty",
    "writeback_bytes": "Writeback",
    "cached_bytes": "Cached",
}


def read(host: ObservedHost) -> dict[str, Numbers]:
    """Read ``/proc/meminfo``."""
    meminfo = files.keyed(files.text(f"{host.root}/proc/meminfo") or "")
    return {
        "": {
            name: int(meminfo[field].split()[0]) * 1024
            for name, field in _FIELDS.items()
            if field in meminfo
        }
    }


SOURCE = HostSource(
    name="memory",
    read=read,
    watches="memory that is available, in the page cache, dirty, and under writeback",
    objects="the whole host",
    counters=frozenset(),
    levels=frozenset(_FIELDS),
    files="/proc/meminfo",
)
