"""The memory limit of this process's control groups, in both versions.

Any group between the process's own and the root may have a limit: the lowest applies.
"""

from contextlib import suppress
from pathlib import Path

from dbdyno.servers.groups import memberships, upwards

# Version 1 represents "no limit" as the largest number of pages.
_V1_UNLIMITED_BYTES = 2**62


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
