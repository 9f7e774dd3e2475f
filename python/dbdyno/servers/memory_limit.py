"""The memory of this host, within the limit of this process's control groups, in both versions.

Any group between the process's own and the root may have a limit: the lowest applies.
"""

import os
from contextlib import suppress
from pathlib import Path

from dbdyno.servers.groups import memberships, upwards

# Version 1 represents "no limit" as the largest number of pages.
_V1_UNLIMITED_BYTES = 2**62


def available_memory_bytes() -> int:
    """Return the host's memory, or the limit of this process if that is lower."""
    installed = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    limit = memory_limit_bytes()
    return installed if limit is None else min(installed, limit)


def memory_limit_bytes(root: Path = Path("/")) -> int | None:
    """Return the lowest limit; None if there is none."""
    limits = [_limit(file) for file in _files(root)]
    return min((limit for limit in limits if limit is not None), default=None)


def _files(root: Path) -> list[Path]:
    mounts = root / "sys/fs/cgroup"
    paths = {}
    with suppress(OSError):
        paths = dict(memberships((root / "proc/self/cgroup").read_text()))
    if (mounts / "cgroup.controllers").exists():
        return [group / "memory.max" for group in upwards(mounts, paths.get("", "/"))]
    groups = upwards(mounts / "memory", paths.get("memory", "/"))
    return [group / "memory.limit_in_bytes" for group in groups]


def _limit(file: Path) -> int | None:
    with suppress(OSError, ValueError):  # the root has no limit, and version 2 writes "max"
        limit = int(file.read_text())
        return limit if limit < _V1_UNLIMITED_BYTES else None
    return None
