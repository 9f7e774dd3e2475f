"""The disk of a folder: its mount, its device, its I/O scheduler, and its free space."""

import os
import re
from pathlib import Path

from dbdyno.host import files
from dbdyno.model.host import Disk


def describe(root: Path, folder: Path) -> Disk | None:
    """Describe the file system of ``folder``; None if the mounts cannot be read."""
    mount = _mount_of(files.text(root / "proc/self/mounts") or "", folder.absolute())
    if mount is None:
        return None
    device, mount_point, file_system, options = mount
    queue = _queue(root, device)
    rotational = files.number(queue / "rotational") if queue else None
    return Disk(
        folder=str(folder),
        mount_point=mount_point,
        file_system=file_system,
        device=device,
        mount_options=options,
        rotational=None if rotational is None else rotational == 1,
        scheduler=_scheduler(queue) if queue else None,
        free_bytes=free_bytes(folder),
    )


def free_bytes(folder: Path) -> int:
    """Return the bytes that an ordinary user may still write in ``folder``, existing or not."""
    existing = next(f for f in (folder, *folder.absolute().parents) if f.exists())
    status = os.statvfs(existing)
    return status.f_bavail * status.f_frsize


def _mount_of(mounts: str, folder: Path) -> tuple[str, str, str, str] | None:
    """Return the device, mount point, type and options of the deepest mount above ``folder``."""
    found = None
    for line in mounts.splitlines():
        device, mount_point, file_system, options, *_ = map(_unescaped, line.split(" "))
        # Of two mounts on one point, the later one hides the earlier.
        if folder.is_relative_to(mount_point) and (
            found is None or len(mount_point) >= len(found[1])
        ):
            found = (device, mount_point, file_system, options)
    return found


def _unescaped(field: str) -> str:
    r"""Replace ``\040``, the kernel's form of a space in paths, and the like."""
    return re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), field)


def _queue(root: Path, device: str) -> Path | None:
    """Return the folder of the block device's queue; for a partition that of its disk."""
    entry = root / "sys/class/block" / Path(device).name
    return next(
        (q for q in (entry / "queue", entry.resolve().parent / "queue") if q.exists()), None
    )


def _scheduler(queue: Path) -> str | None:
    bracketed = re.search(r"\[(\S+)\]", files.text(queue / "scheduler") or "")
    return bracketed[1] if bracketed else None
