"""The control groups of a process, and their limits, for both versions of the interface.

A limit may be set on any group between the process's own and the root: the lowest one applies.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from dbdyno.host import files
from dbdyno.model.host import CgroupLimits
from dbdyno.servers.groups import memberships, upwards
from dbdyno.servers.memory_limit import memory_limit_bytes

_Limit = TypeVar("_Limit", int, float)


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
        quota = _quota_v2 if self.version == 2 else _quota_v1
        return _least(map(quota, self.above("cpu")))


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
    return CgroupLimits(
        version=groups.version,
        cpu_cores=groups.cpu_cores(),
        memory_bytes=memory_limit_bytes(root),
        cpuset=_first(files.text(folder / cpuset_file) for folder in groups.above("cpuset")),
    )


def _quota_v2(folder: Path) -> float | None:
    quota, _, period = (files.text(f"{folder}/cpu.max") or "max").partition(" ")
    return None if quota == "max" else int(quota) / int(period or 100_000)


def _quota_v1(folder: Path) -> float | None:
    quota = files.number(f"{folder}/cpu.cfs_quota_us")
    period = files.number(f"{folder}/cpu.cfs_period_us")
    return quota / period if quota and period and quota > 0 else None


def _least(limits: Iterable[_Limit | None]) -> _Limit | None:
    return min((limit for limit in limits if limit is not None), default=None)


def _first(values: Iterable[str | None]) -> str | None:
    return next(filter(None, values), None)
