"""The disks below a folder: those that are busy when something is written there.

A partition counts as its disk, and a volume of several disks (LVM, encryption, RAID) as the disks
below it: only one level is named, so that nothing is counted twice.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from dbdyno.host import files

# These keep files in memory: there is no disk to observe.
_IN_MEMORY = frozenset({"tmpfs", "ramfs", "hugetlbfs"})
# A database's log or tablespace may be on another disk, by a link in its folder.
_DEPTH = 2


def disks_below(root: Path, folders: Iterable[Path]) -> set[str]:
    """Return the kernel's names of the disks below the folders; empty for memory.

    If a file system does not report its device (that of a container does not), all disks of the
    host are returned.
    """
    found: set[str] = set()
    for number in {number for folder in folders for number in _device_numbers(folder, _DEPTH)}:
        entry = root / "sys/dev/block" / number
        if entry.exists():
            found |= set(_bottom(entry.resolve()))
        elif (mount := _mount_of(root, number)) is not None and mount[0] not in _IN_MEMORY:
            found |= _by_name(root, mount[1]) or all_disks(root)
    return found


def all_disks(root: Path) -> set[str]:
    """Return every disk that has hardware (or a hypervisor) behind it."""
    entries = (root / "sys/block").glob("*")
    return {entry.name for entry in entries if (entry / "device").exists()}


def _device_numbers(path: Path, depth: int) -> set[str]:
    """Return ``major:minor`` of the path and of what is below it, as far as it can be read."""
    try:
        device = path.stat().st_dev
    except OSError:
        return set()
    below = _may_lie_elsewhere(path) if depth else []
    found = {f"{os.major(device)}:{os.minor(device)}"}
    return found.union(*(_device_numbers(entry, depth - 1) for entry in below))


def _may_lie_elsewhere(path: Path) -> list[Path]:
    """Return the folders and links in a folder: all else is on the folder's own device."""
    try:
        with os.scandir(path) as entries:
            return [Path(entry) for entry in entries if entry.is_dir() or entry.is_symlink()]
    except OSError:
        return []  # a file, or a folder that we may not read


def _bottom(device: Path) -> Iterator[str]:
    if (device / "partition").exists():
        device = device.parent
    below = sorted((device / "slaves").glob("*"))
    if not below:
        yield device.name
    for entry in below:
        yield from _bottom(entry.resolve())


def _by_name(root: Path, source: str) -> set[str]:
    """Return the disks of a mount that names its device; its files' number may differ (btrfs)."""
    entry = root / "sys/class/block" / Path(source).name
    return set(_bottom(entry.resolve())) if source.startswith("/dev/") and entry.exists() else set()


def _mount_of(root: Path, number: str) -> tuple[str, str] | None:
    """Return the file system and the source of the mount with this device number."""
    for line in (files.text(root / "proc/self/mountinfo") or "").splitlines():
        before, _, after = line.partition(" - ")
        if before.split(" ")[2:3] == [number]:
            file_system, source, *_ = after.split(" ")
            return file_system, source
    return None
