"""Small files of a run folder: JSON replaced in one step, and the lock that says "running".

A run is running while some process holds the lock. The kernel gives it back however that
process dies, so a run whose record still says ``running`` without the lock was interrupted.
"""

import fcntl
import os
import time
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

LOCK = "lock"
LOOK_MAX_S = 0.4  # however busy the machine, that of one reader does not last longer


def replace_json(path: Path, value: object) -> None:
    """Write JSON so that a reader sees the old file or the new one, never a part."""
    text = msgspec.json.format(msgspec.json.encode(value), indent=2)
    replace_bytes(path, text + b"\n")


def replace_bytes(path: Path, content: bytes) -> None:
    """Write a file beside its place, onto the disk, and move it there."""
    unfinished = path.with_name(path.name + ".new")
    try:
        with unfinished.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    except OSError:
        unfinished.unlink(missing_ok=True)
        raise


def read_json(path: Path) -> dict[str, Any]:
    """The object in the file, or an empty one when the run ended before it was written."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    except FileNotFoundError:
        return {}


def hold_lock(folder: Path) -> BinaryIO:
    """Take the lock of a new run folder; closing the file gives it back.

    Python's files are closed in programs that are started, so a server that outlives us
    does not keep the lock.
    """
    file = (folder / LOCK).open("wb")
    try:
        _take(file)
    except BlockingIOError:
        file.close()
        raise
    return file


def _take(lock: BinaryIO) -> None:
    """Who looks whether we run holds the lock, too, for an instant: that is waited out."""
    deadline = time.monotonic() + LOOK_MAX_S
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise
            time.sleep(LOOK_MAX_S / 20)
        else:
            return


def is_locked(folder: Path) -> bool:
    """Whether the process that writes this run still lives."""
    try:
        with (folder / LOCK).open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False
