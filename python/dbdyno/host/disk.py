"""The disk of a folder: its mount, its I/O scheduler, its free space, and the devices below it.

The devices are those that are busy when something is written there. A partition counts as its
disk, and a volume of several disks (LVM, encryption, RAID) as the disks below it: only one level is
named, so that nothing is counted twice.
"""

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from dbdyno.host import files
from dbdyno.model.host import Disk

# These keep files in memory: there is no disk to observe.
_IN_MEMORY = frozenset({"tmpfs", "ramfs", "hugetlbfs"})
# A database's log or tablespace may be on another disk, by a link in its folder.
_DEPTH = 2


def describe(root: Path, folder: Path) -> Disk | None:
    """Describe the file system of ``folder``; None if the mounts cannot be read."""
    mount = _mount_above(files.text(root / "proc/self/mounts") or "", folder.absolute())
    if mount is None:
        return None
    device, mount_point, file_system, options = mount
    entry = root / "sys/class/block" / Path(device).name
    # A partition has the queue of its disk.
    queues = (entry / "queue", entry.resolve().parent / "queue")
    queue = next((folder for folder in queues if folder.exists()), None)
    rotational = files.number(queue / "rotational") if queue else None
    schedulers = files.text(queue / "scheduler") if queue else None
    chosen = re.search(r"\[(\S+)\]", schedulers or "")
    return Disk(
        folder=str(folder),
        mount_point=mount_point,
        file_system=file_system,
        device=device,
        mount_options=options,
        rotational=None if rotational is None else rotational == 1,
        scheduler=chosen[1] if chosen else None,
        free_bytes=free_bytes(folder),
    )


def free_bytes(folder: Path) -> int:
    """Return the bytes that an ordinary user may still write in ``folder``, existing or not."""
    existing = next(f for f in (folder, *folder.absolute().parents) if f.exists())
    status = os.statvfs(existing)
    return status.f_bavail * status.f_frsize


def _mount_above(mounts: str, folder: Path) -> tuple[str, str, str, str] | None:
    """Return the device, mount point, type and options of the deepest mount above ``folder``."""
    found = None
    for line in mounts.splitlines():
        device, mount_point, file_system, options, *_ = (
            # ``\040`` is the kernel's form of a space in paths.
            re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), field)
            for field in line.split(" ")
        )
        # Of two mounts on one point, the later one hides the earlier.
        if folder.is_relative_to(mount_point) and (
            found is None or len(mount_point) >= len(found[1])
        ):
            found = (device, mount_point, file_system, options)
    return found


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
        elif (mount := _mount_with(root, number)) is not None and mount[0] not in _IN_MEMORY:
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


def _mount_with(root: Path, number: str) -> tuple[str, str] | None:
    """Return the file system and the source of the mount with this device number."""
    for line in (files.text(root / "proc/self/mountinfo") or "").splitlines():
        before, _, after = line.partition(" - ")
        if before.split(" ")[2:3] == [number]:
            file_system, source, *_ = after.split(" ")
            return file_system, source
    return None
