"""The description of the host that goes into each run folder."""

import os
import platform
import resource
from pathlib import Path

from dbdyno.host import cgroup, cpu, disk, files, memory
from dbdyno.model.host import HostDescription, Kernel

ROOT = Path("/")


def describe_host(data_folder: Path | None = None, root: Path = ROOT) -> HostDescription:
    """Describe this host; ``data_folder`` is where the database writes, if that is local."""
    return HostDescription(
        name=platform.node(),
        machine=platform.machine(),
        cpu=cpu.describe(root, len(os.sched_getaffinity(0))),
        memory=memory.describe(root),
        kernel=kernel(root),
        cgroup=cgroup.describe(root),
        disk=disk.describe(root, data_folder) if data_folder else None,
        file_descriptors_max=resource.getrlimit(resource.RLIMIT_NOFILE)[1],
        python=platform.python_version(),
    )


def kernel(root: Path = ROOT) -> Kernel:
    """Describe the operating system below ``root``."""
    load = files.text(root / "proc/loadavg")
    return Kernel(
        release=files.text(root / "proc/sys/kernel/osrelease") or platform.release(),
        distribution=_distribution(files.text(root / "etc/os-release") or ""),
        clock_source=files.text(
            root / "sys/devices/system/clocksource/clocksource0/current_clocksource"
        ),
        io_uring_disabled=files.number(root / "proc/sys/kernel/io_uring_disabled"),
        sched_autogroup_enabled=files.number(root / "proc/sys/kernel/sched_autogroup_enabled"),
        load_average_1m=float(load.split()[0]) if load else None,
    )


def _distribution(os_release: str) -> str | None:
    for line in os_release.splitlines():
        key, _, value = line.partition("=")
        if key == "PRETTY_NAME":
            return value.strip('"')
    return None
