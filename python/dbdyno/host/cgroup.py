"""The control groups of a process, and their limits, for both versions of the interface.

A limit may be set on any group between the process's own and the root: the lowest one applies.
"""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from dbdyno.host import files
from dbdyno.model.host import CgroupLimits
from dbdyno.servers.groups import memberships, memory_limit_bytes, upwards


@dataclass(frozen=True)
class Groups:
    """The groups of one process: ``paths`` by controller (version 2 has one, "")."""

    version: int | None
    mounts: Path
    paths: dict[str, str]

    def above(self, controller: str) -> tuple[Path, ...]:
        """Return the process's group of a controller and its parents, as far as visible."""
        if self.version == 2:
            return _above(self.mounts, "", self.paths.get("", "/"))
        return _above(self.mounts, controller, self.paths.get(controller, "/"))

    def cpu_cores(self) -> float | None:
        """Return the lowest quota, in cores; None if there is none."""
        quotas = (_quota_cores(folder, self.version) for folder in self.above("cpu"))
        return min((cores for cores in quotas if cores is not None), default=None)


# Cached, like those below: they are needed every second, and paths are expensive to compute.
@lru_cache(maxsize=100)
def _above(mounts: Path, controller: str, group: str) -> tuple[Path, ...]:
    return tuple(upwards(mounts / controller, group))


def groups_of(root: Path, process: int | str = "self") -> Groups:
    """Return the groups of a process; with version None if it has none or has ended."""
    return _groups(root, files.text(f"{root}/proc/{process}/cgroup") or "")


@lru_cache(maxsize=100)
def _groups(root: Path, content: str) -> Groups:
    mounts = root / "sys/fs/cgroup"
    paths = dict(memberships(content))
    if paths and (mounts / "cgroup.controllers").exists():
        return Groups(2, mounts, paths)
    return Groups(1 if {"cpu", "memory"} & paths.keys() else None, mounts, paths)


def describe(root: Path) -> CgroupLimits:
    """Return the limits on the process whose ``/proc/self`` is below ``root``."""
    groups = groups_of(root)
    if groups.version is None:
        return CgroupLimits(version=None, cpu_cores=None, memory_bytes=None, cpuset=None)
    cpuset_file = "cpuset.cpus.effective" if groups.version == 2 else "cpuset.cpus"
    cpusets = (files.text(folder / cpuset_file) for folder in groups.above("cpuset"))
    return CgroupLimits(
        version=groups.version,
        cpu_cores=groups.cpu_cores(),
        memory_bytes=memory_limit_bytes(root),
        cpuset=next(filter(None, cpusets), None),
    )


def _quota_cores(folder: Path, version: int | None) -> float | None:
    if version == 2:
        allowed, _, period = (files.text(f"{folder}/cpu.max") or "max").partition(" ")
        return None if allowed == "max" else int(allowed) / int(period or 100_000)
    quota_us = files.number(f"{folder}/cpu.cfs_quota_us")
    period_us = files.number(f"{folder}/cpu.cfs_period_us")
    return quota_us / period_us if quota_us and period_us and quota_us > 0 else None
