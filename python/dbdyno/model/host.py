"""The host of a run, as stored in ``host.json``.

None, or 0 bytes: the host does not report it, or the dbdyno that recorded it did not ask.
"""

from msgspec import Struct


class Cpu(Struct, frozen=True, kw_only=True):
    """The CPUs."""

    model: str | None = None
    cores_online: int | None = None
    cores_available: int | None = None
    """The cores that this process may use."""
    sockets: int | None = None
    numa_nodes: int | None = None
    governor: str | None = None
    max_mhz: float | None = None
    hypervisor: bool = False
    """Whether the CPU reports that it is virtual."""


class Memory(Struct, frozen=True, kw_only=True):
    """Main memory."""

    total_bytes: int = 0
    available_bytes: int = 0
    swap_total_bytes: int = 0
    huge_pages_total: int = 0
    transparent_huge_pages: str | None = None


class Kernel(Struct, frozen=True, kw_only=True):
    """The operating system."""

    release: str | None = None
    distribution: str | None = None
    clock_source: str | None = None
    io_uring_disabled: int | None = None
    """0 for everyone, 1 for a group, 2 for nobody."""
    sched_autogroup_enabled: int | None = None
    """1: CPU time is divided between sessions before it is between threads."""
    load_average_1m: float | None = None


class CgroupLimits(Struct, frozen=True, kw_only=True):
    """The limits of this process's control group; None where it sets none."""

    version: int | None = None
    cpu_cores: float | None = None
    memory_bytes: int | None = None
    cpuset: str | None = None


class Disk(Struct, frozen=True, kw_only=True):
    """The file system that contains a folder."""

    folder: str = ""
    mount_point: str = ""
    file_system: str | None = None
    device: str | None = None
    mount_options: str = ""
    rotational: bool | None = None
    scheduler: str | None = None
    free_bytes: int = 0


class HostDescription(Struct, frozen=True, kw_only=True):
    """The host."""

    name: str | None = None
    machine: str = ""
    cpu: Cpu = Cpu()
    memory: Memory = Memory()
    kernel: Kernel = Kernel()
    cgroup: CgroupLimits = CgroupLimits()
    disk: Disk | None = None
    file_descriptors_max: int = 0
    python: str = ""
