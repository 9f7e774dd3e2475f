"""Copies folders of large files in the cheapest way that the file system supports.

Files are cloned if possible (btrfs, XFS: no bytes are moved, and no space is used until one of the
two changes), else copied inside the kernel, also to another file system, leaving out holes. All
copied data is on disk on return, so that a measurement does not wait for it. Too little space is an
error beforehand. A link out of its folder is an error, too: who uses the copy would write there.
"""

import errno
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from dbdyno.errors import DbdynoError
from dbdyno.home import leads_outside

FICLONE = 0x40049409
BLOCK_BYTES = 512  # the unit of st_blocks
# Errors of a file system that does not support this way of copying, or not to the other one.
UNABLE = (errno.EOPNOTSUPP, errno.EXDEV, errno.EINVAL, errno.ENOTTY, errno.ENOSYS)
CHUNK_BYTES = 1 << 30


def tree_bytes(folder: Path) -> int:
    """Return the space that the files of a folder take on disk."""
    return sum(_allocated(path) for path in folder.rglob("*"))


def copy_trees(pairs: list[tuple[Path, Path]], what: str) -> None:
    """Copy the contents of each first folder into its second, which need not exist."""
    for source, target in pairs:
        target.mkdir(mode=0o700, exist_ok=True)
        if not _can_clone(source, target):
            refuse_lack_of_room(tree_bytes(source), target, what)
        try:
            _copy_contents(source, target)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            raise DbdynoError(
                "disk_full",
                f"{what} did not fit: {target} is full",
                "free some space, or use a smaller scale",
            ) from error
    os.sync()


def refuse_lack_of_room(needed: int, folder: Path, what: str) -> None:
    """Raise an error if a copy would not fit."""
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise DbdynoError(
            "disk_full",
            f"{what} needs {needed / 1e9:.2f} GB, and {folder} has {free / 1e9:.2f} GB left",
            "free some space (see dbdyno data list), or use a smaller scale",
        )


def _copy_contents(source: Path, target: Path) -> None:
    for path in source.iterdir():
        copy = target / path.name
        if why := leads_outside(path):
            raise DbdynoError("leads_outside", why, "put a copy of what it leads to in its place")
        if path.is_symlink():
            copy.symlink_to(path.readlink())
        elif path.is_dir():
            copy.mkdir(mode=path.stat().st_mode & 0o777)
            _copy_contents(path, copy)
        elif path.is_file():
            _copy_file(path, copy)


def _copy_file(source: Path, target: Path) -> None:
    with source.open("rb") as old, target.open("xb") as new:
        status = os.fstat(old.fileno())
        os.fchmod(new.fileno(), status.st_mode & 0o777)
        if not _cloned(old.fileno(), new.fileno()):
            _copy_extents(old.fileno(), new.fileno(), status.st_size)
            if status.st_blocks * BLOCK_BYTES >= status.st_size > 0:
                # Space that a server has preallocated must be allocated in the copy, too.
                os.posix_fallocate(new.fileno(), 0, status.st_size)


def _copy_extents(old: int, new: int, size: int) -> None:
    os.ftruncate(new, size)
    for start, end in _extents(old, size):
        at = start
        while at < end and (copied := _copy_some(old, new, at, min(end - at, CHUNK_BYTES))):
            at += copied


def _copy_some(old: int, new: int, at: int, size: int) -> int:
    """Return the number of bytes copied: as many as the kernel copied at once, 0 at the end."""
    try:
        return os.copy_file_range(old, new, size, at, at)
    except OSError as error:
        if error.errno not in UNABLE:
            raise
    os.lseek(new, at, os.SEEK_SET)
    return os.sendfile(new, old, at, size)


def _extents(file: int, size: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges of a file that contain data; the rest are holes."""
    end = 0
    while end < size:
        try:
            start = os.lseek(file, end, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:  # only a hole up to the end
                return
            raise
        end = os.lseek(file, start, os.SEEK_HOLE)
        yield start, end


def _can_clone(source: Path, target: Path) -> bool:
    """Test with a file of one byte: only a test tells whether two file systems can clone."""
    with tempfile.TemporaryFile(dir=source) as old, tempfile.TemporaryFile(dir=target) as new:
        old.write(b"?")
        old.flush()
        return _cloned(old.fileno(), new.fileno())


def _cloned(old: int, new: int) -> bool:
    try:
        fcntl.ioctl(new, FICLONE, old)
    except OSError as error:
        if error.errno in UNABLE:
            return False
        raise
    return True


def _allocated(path: Path) -> int:
    try:
        return path.lstat().st_blocks * BLOCK_BYTES
    except FileNotFoundError:
        return 0
