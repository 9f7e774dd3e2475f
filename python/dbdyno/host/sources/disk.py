"""The disks below the server's data and log."""

from dbdyno.host import files
from dbdyno.host.observed_host import HostSource, ObservedHost
from dbdyno.model.source import Numbers

_SECTOR_BYTES = 512
# Times are 32-bit milliseconds, which a queue of 32 fills in a day and a half.
_TIME_MODULUS = 2**32

# Positions in a line of /proc/diskstats; the device's name is at 2.
_COUNTS = {"reads": 3, "writes": 7, "flushes": 18}
_SECTORS = {"read_bytes": 5, "write_bytes": 9}
_TIMES = {"read_us": 6, "write_us": 10, "busy_us": 12, "flush_us": 19}
_IN_FLIGHT = 11


def read(host: ObservedHost) -> dict[str, Numbers]:
    """Read the lines of these disks in ``/proc/diskstats``."""
    lines = (files.text(f"{host.root}/proc/diskstats") or "").splitlines()
    rows = (line.split() for line in lines)
    return {row[2]: _numbers(host, row) for row in rows if row[2] in host.disks}


def _numbers(host: ObservedHost, row: list[str]) -> dict[str, float]:
    """Return the numbers of a line; older kernels write shorter ones, without some of them."""
    numbers: dict[str, float] = {"in_flight": int(row[_IN_FLIGHT])}
    for name, place in _COUNTS.items():
        if place < len(row):
            numbers[name] = int(row[place])
    for name, place in _SECTORS.items():
        numbers[name] = int(row[place]) * _SECTOR_BYTES
    for name, place in _TIMES.items():
        if place < len(row):
            key = ("disk", row[2], name)
            numbers[name] = host.continuity.unwrapped(key, int(row[place]), _TIME_MODULUS) * 1000
    return numbers


def lack(host: ObservedHost) -> str | None:
    """Return why no disk can be read; None if one can."""
    if not host.folders:
        return "it is not known where on this host the server keeps its data"
    if not host.disks:
        return "the server keeps its data in memory, or on a file system without a device here"
    return None if (host.root / "proc/diskstats").exists() else "/proc/diskstats does not exist"


SOURCE = HostSource(
    name="disk",
    read=read,
    watches="the disks with the data and WAL directories: requests, bytes, request time, flushes, "
    "busy time (at least one request), requests in flight",
    objects="the kernel's name of the disk; for partitions and volumes, the disks below them",
    counters=frozenset({*_COUNTS, *_SECTORS, *_TIMES}),
    levels=frozenset({"in_flight"}),
    files="/proc/diskstats, /sys/dev/block",
    lack=lack,
)
