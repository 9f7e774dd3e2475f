"""The disks at the bottom of a folder: what works when something is written there.

A partition stands for its disk, a volume of several disks (LVM, encryption, RAID) for those
below it: only one level is named, so that nothing is counted twice.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from dbdyno.host import files

# These keep files in memory: there is no disk to watch.
_IN_MEMORY = frozenset({"tmpfs", "ramfs", "hugetlbfs"})
# A database puts its log or a tablespace on another disk by a link in its folder.
_DEPTH = 2


def disks_below(root: Path, folders: Iterable[Path]) -> set[str]:
    """The kernel's names of the disks that the folders lie on; empty for memory.

    Where a file system does not tell its device (that of a container does not), all disks of
    the machine are named.
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
    """Every disk with hardware (or a hypervisor) behind it."""
    entries = (root / "sys/block").glob("*")
    return {entry.name for entry in entries if (entry / "device").exists()}


def _device_numbers(path: Path, depth: int) -> set[str]:
    """``major:minor`` of what is there and of what lies below it, as far as we may look."""
    try:
        device = path.stat().st_dev
    except OSError:
        return set()
    below = _may_lie_elsewhere(path) if depth else []
    found = {f"{os.major(device)}:{os.minor(device)}"}
    return found.union(*(_device_numbers(entry, depth - 1) for entry in below))


def _may_lie_elsewhere(path: Path) -> list[Path]:
    """Folders and links in a folder: anything else lies where its folder lies."""
    try:
        with os.scandir(path) as entries:
            return [Path(entry) for entry in entries if entry.is_dir() or entry.is_symlink()]
    except OSError:
        return []  # a file, or a folder that is not for us


def _bottom(device: Path) -> Iterator[str]:
    if (device / "partition").exists():
        device = device.parent
    below = sorted((device / "slaves").glob("*"))
    if not below:
        yield device.name
    for entry in below:
        yield from _bottom(entry.resolve())


def _by_name(root: Path, source: str) -> set[str]:
    """Disks of a mount that names its device though its files have another number (btrfs)."""
    entry = root / "sys/class/block" / Path(source).name
    return set(_bottom(entry.resolve())) if source.startswith("/dev/") and entry.exists() else set()


def _mount_of(root: Path, number: str) -> tuple[str, str] | None:
    """File system and source of the mount with this device number."""
    for line in (files.text(root / "proc/self/mountinfo") or "").splitlines():
        before, _, after = line.partition(" - ")
        if before.split(" ")[2:3] == [number]:
            file_system, source, *_ = after.split(" ")
            return file_system, source
    return None
