"""The description of the host that goes into each run folder."""

import os
import platform
import re
import resource
from pathlib import Path

from dbdyno.engine import files_beside_clients
from dbdyno.host import cgroup, cpu, disk, files
from dbdyno.model.host import HostDescription, Kernel, Memory

ROOT = Path("/")


def describe_host(data_folder: Path | None = None, root: Path = ROOT) -> HostDescription:
    """Describe this host; ``data_folder`` is where the database writes, if that is local."""
    return HostDescription(
        name=platform.node(),
        machine=platform.machine(),
        cpu=cpu.describe(root, len(os.sched_getaffinity(0))),
        memory=memory(root),
        kernel=kernel(root),
        cgroup=cgroup.describe(root),
        disk=disk.describe(root, data_folder) if data_folder else None,
        file_descriptors_max=resource.getrlimit(resource.RLIMIT_NOFILE)[1],
        python=platform.python_version(),
    )


def kernel(root: Path = ROOT) -> Kernel:
    """Describe the operating system below ``root``."""
    load = files.text(root / "proc/loadavg")
    named = re.search(
        r"^PRETTY_NAME=(.*)$", files.text(root / "etc/os-release") or "", re.MULTILINE
    )
    return Kernel(
        release=files.text(root / "proc/sys/kernel/osrelease") or platform.release(),
        distribution=named[1].strip('"') if named else None,
        clock_source=files.text(
            root / "sys/devices/system/clocksource/clocksource0/current_clocksource"
        ),
        io_uring_disabled=files.number(root / "proc/sys/kernel/io_uring_disabled"),
        sched_autogroup_enabled=files.number(root / "proc/sys/kernel/sched_autogroup_enabled"),
        load_average_1m=float(load.split()[0]) if load else None,
    )


def memory(root: Path = ROOT) -> Memory:
    """Describe the main memory below ``root``."""
    fields = files.keyed(files.text(root / "proc/meminfo") or "")

    def field_bytes(name: str) -> int:
        return int(fields.get(name, "0 kB").split()[0]) * 1024

    # Of ``always [madvise] never``, the word in brackets applies.
    choice = files.text(root / "sys/kernel/mm/transparent_hugepage/enabled") or ""
    chosen = re.search(r"\[(.*?)\]", choice)
    return Memory(
        total_bytes=field_bytes("MemTotal"),
        available_bytes=field_bytes("MemAvailable"),
        swap_total_bytes=field_bytes("SwapTotal"),
        huge_pages_total=int(fields.get("HugePages_Total", "0")),
        transparent_huge_pages=chosen[1] if chosen else None,
    )


def files_max() -> int | None:
    """Return the number of files that this process may have open; None without a limit."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    return None if limit == resource.RLIM_INFINITY else limit


def clients_admitted(limit: int) -> int:
    """Return the clients that a run with a thread on each CPU may have with so many open files."""
    return max(limit - files_beside_clients(len(os.sched_getaffinity(0))), 0)
