"""How much memory the control groups of this process leave it, for both versions.

A limit may stand on any group between the process's own and the root: the tightest one holds.
"""

from contextlib import suppress
from pathlib import Path

from dbdyno.servers.groups import memberships, upwards

# Version 1 writes "no limit" as the largest number of pages.
_V1_UNLIMITED_BYTES = 2**62


def memory_limit_bytes(root: Path = Path("/")) -> int | None:
    """The tightest limit; None where there is none."""
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
    with suppress(OSError, ValueError):  # the root has none, and version 2 writes "max"
        limit = int(file.read_text())
        return limit if limit < _V1_UNLIMITED_BYTES else None
    return None
