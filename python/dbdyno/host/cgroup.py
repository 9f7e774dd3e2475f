"""Limits of the control group this process is in, for both versions of the interface.

A limit may stand on any group between ours and the root: the tightest one holds.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from dbdyno.host import files
from dbdyno.model.host import CgroupLimits

# Version 1 writes "no limit" as the largest number of pages.
_V1_UNLIMITED_BYTES = 2**62

_Limit = TypeVar("_Limit", int, float)


def describe(root: Path) -> CgroupLimits:
    """The limits on the process whose ``/proc/self`` stands below ``root``."""
    mounts = root / "sys/fs/cgroup"
    paths = dict(_memberships(files.text(root / "proc/self/cgroup") or ""))
    if (mounts / "cgroup.controllers").exists():
        return _version_2(list(_upwards(mounts, paths.get("", "/"))))
    if {"cpu", "memory"} & paths.keys():
        return _version_1(mounts, paths)
    return CgroupLimits(version=None, cpu_cores=None, memory_bytes=None, cpuset=None)


def _memberships(content: str) -> Iterator[tuple[str, str]]:
    """(controller, path) of each line ``id:controllers:path``; version 2 names no controller."""
    for line in content.splitlines():
        _, controllers, path = line.split(":", 2)
        for controller in controllers.split(","):
            yield controller, path


def _upwards(mount: Path, path: str) -> Iterator[Path]:
    """The group's folder and those above it, as far as this container sees them."""
    folder = mount / path.lstrip("/")
    # Inside a container the path may be the host's: only the mount itself is there then.
    yield from (f for f in (folder, *folder.parents) if f.is_relative_to(mount) and f.is_dir())


def _version_2(folders: list[Path]) -> CgroupLimits:
    return CgroupLimits(
        version=2,
        cpu_cores=_least(_quota_v2(folder / "cpu.max") for folder in folders),
        memory_bytes=_least(files.number(folder / "memory.max") for folder in folders),
        cpuset=_first(files.text(folder / "cpuset.cpus.effective") for folder in folders),
    )


def _version_1(mounts: Path, paths: dict[str, str]) -> CgroupLimits:
    def above(controller: str) -> list[Path]:
        return list(_upwards(mounts / controller, paths.get(controller, "/")))

    memory = _least(files.number(f / "memory.limit_in_bytes") for f in above("memory"))
    return CgroupLimits(
        version=1,
        cpu_cores=_least(_quota_v1(folder) for folder in above("cpu")),
        memory_bytes=memory if memory and memory < _V1_UNLIMITED_BYTES else None,
        cpuset=_first(files.text(folder / "cpuset.cpus") for folder in above("cpuset")),
    )


def _quota_v2(path: Path) -> float | None:
    quota, _, period = (files.text(path) or "max").partition(" ")
    return None if quota == "max" else int(quota) / int(period or 100_000)


def _quota_v1(folder: Path) -> float | None:
    quota = files.number(folder / "cpu.cfs_quota_us")
    period = files.number(folder / "cpu.cfs_period_us")
    return quota / period if quota and period and quota > 0 else None


def _least(limits: Iterable[_Limit | None]) -> _Limit | None:
    return min((limit for limit in limits if limit is not None), default=None)


def _first(values: Iterable[str | None]) -> str | None:
    return next(filter(None, values), None)
