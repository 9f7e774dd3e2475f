"""The host of a run, as stored in ``host.json``. None: the host does not report it."""

from msgspec import Struct


class Cpu(Struct, frozen=True, kw_only=True):
    """The CPUs."""

    model: str | None
    cores_online: int
    cores_available: int
    """The cores that this process may use."""
    sockets: int | None
    numa_nodes: int
    governor: str | None
    max_mhz: float | None
    hypervisor: bool
    """Whether the CPU reports that it is virtual."""


class Memory(Struct, frozen=True, kw_only=True):
    """Main memory."""

    total_bytes: int
    available_bytes: int
    swap_total_bytes: int
    huge_pages_total: int
    transparent_huge_pages: str | None


class Kernel(Struct, frozen=True, kw_only=True):
    """The operating system."""

    release: str
    distribution: str | None
    clock_source: str | None
    io_uring_disabled: int | None
    """0 for everyone, 1 for a group, 2 for nobody."""
    sched_autogroup_enabled: int | None
    """1: CPU time is divided between sessions before it is between threads."""
    load_average_1m: float | None


class CgroupLimits(Struct, frozen=True, kw_only=True):
    """The limits of this process's control group; None where it sets none."""

    version: int | None
    cpu_cores: float | None
    memory_bytes: int | None
    cpuset: str | None


class Disk(Struct, frozen=True, kw_only=True):
    """The file system that contains a folder."""

    folder: str
    mount_point: str
    file_system: str
    device: str
    mount_options: str
    rotational: bool | None
    scheduler: str | None
    free_bytes: int


class HostDescription(Struct, frozen=True, kw_only=True):
    """The host."""

    name: str
    machine: str
    cpu: Cpu
    memory: Memory
    kernel: Kernel
    cgroup: CgroupLimits
    disk: Disk | None
    file_descriptors_max: int
    python: str
