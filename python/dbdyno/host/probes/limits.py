"""How much there is for a run: CPU time, memory, space on disk, open files."""

from pathlib import Path

from dbdyno.home import home
from dbdyno.host import cgroup as control_groups, disk
from dbdyno.host.describe import clients_admitted, files_max, memory
from dbdyno.host.doctor import ProbeResult, probe

_MEMORY_ENOUGH_BYTES = 2 * 2**30
_DISK_ENOUGH_BYTES = 10 * 2**30
_CLIENTS_WANTED = 10_000


@probe(
    "control group",
    meaning="Once a CPU quota is used up, all threads stop for the rest of the period: latencies "
    "then show stalls of tens of milliseconds that the database did not cause.",
)
def cgroup(root: Path) -> ProbeResult:
    """Read the limits on this process."""
    limits = control_groups.describe(root)
    limited = []
    if limits.cpu_cores is not None:
        limited.append(f"{limits.cpu_cores:g} cores")
    if limits.memory_bytes is not None:
        limited.append(f"{limits.memory_bytes / 2**30:.1f} GiB of memory")
    if not limited:
        return ProbeResult(level="ok", found="no limit")
    return ProbeResult(
        level="warning" if limits.cpu_cores is not None else "note",
        found="limited to " + " and ".join(limited),
        remedy="Give the container whole cores (a cpuset) instead of a quota, and more memory "
        "than the database's cache needs.",
    )


@probe(
    "free memory",
    meaning="A private server uses a quarter of the memory for its cache, and the rest is page "
    "cache for its files; on a host that swaps, swapping is what you measure.",
)
def free_memory(root: Path) -> ProbeResult:
    """Read ``/proc/meminfo``."""
    found = memory(root)
    text = f"{found.available_bytes / 2**30:.1f} of {found.total_bytes / 2**30:.1f} GiB available"
    if found.available_bytes >= _MEMORY_ENOUGH_BYTES:
        return ProbeResult(level="ok", found=text)
    return ProbeResult(
        level="warning", found=text, remedy="Stop other programs, or use a smaller --scale."
    )


def judge_free_disk(folder: Path, free_bytes: int) -> ProbeResult:
    """Judge the free space."""
    found = f"{free_bytes / 2**30:.1f} GiB free in {folder}"
    if free_bytes >= _DISK_ENOUGH_BYTES:
        return ProbeResult(level="ok", found=found)
    return ProbeResult(
        level="warning",
        found=found,
        remedy="Remove old runs (dbdyno runs rm), or set DBDYNO_HOME to a folder on a larger disk.",
    )


@probe(
    "free disk",
    meaning="Private servers keep their data and WAL there: tpcb at scale 100 takes 1.5 GB, and "
    "its WAL a few more.",
)
def free_disk(_root: Path) -> ProbeResult:
    """Read the free space of the file system of ``DBDYNO_HOME``."""
    return judge_free_disk(home(), disk.free_bytes(home()))


_HOW_TO_RAISE = (
    "Raise the hard limit: `ulimit -Hn NUMBER` as root in the shell that starts dbdyno, "
    "`nofile` in /etc/security/limits.conf, LimitNOFILE= of a systemd unit, or "
    "`--ulimit nofile=NUMBER` of a container."
)


def judge_file_limit(files: int | None) -> ProbeResult:
    """Judge the limit."""
    if files is None:
        return ProbeResult(level="ok", found="no limit")
    clients = clients_admitted(files)
    found = f"{files} open files: up to {clients} clients"
    if clients >= _CLIENTS_WANTED:
        return ProbeResult(level="ok", found=found)
    return ProbeResult(level="note", found=found, remedy=_HOW_TO_RAISE)


@probe(
    "open files",
    meaning="Every client has a connection, and every connection is an open file.",
)
def file_limit(_root: Path) -> ProbeResult:
    """Read this process's own limit."""
    return judge_file_limit(files_max())
