"""Small files of a run folder: JSON replaced in one step, and the lock that says "running".

A run is running while some process holds the lock. The kernel gives it back however that
process dies, so a run whose record still says ``running`` without the lock was interrupted.
"""

import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

LOCK = "lock"
LOOK_S = 0.02
LOOKS_MAX = 20  # so many times that, however busy the machine, are enough for one reader


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
    """Who looks whether we run holds the lock, too, for an instant: that is waited out.

    Tries are counted, and not time: a machine that stands still takes from the reader's time, too.
    """
    for _ in range(LOOKS_MAX):
        with suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        time.sleep(LOOK_S)
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


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
