"""Small files of a run folder: atomically replaced JSON, and the lock of a running run.

A run is running as long as a process holds the lock. The kernel releases it however that process
dies, so a run whose record says ``running`` but whose lock is free was interrupted.
"""

import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from dbdyno.home import not_a_file
from dbdyno.store.errors import FROM_A_COPY, StoreError

LOCK = "lock"
LOOK_S = 0.02
LOOKS_MAX = 20  # tries, enough to wait for a reader even on a busy host


def replace_json(path: Path, value: object) -> None:
    """Write JSON so that a reader sees either the old file or the new one, never a part."""
    text = msgspec.json.format(msgspec.json.encode(value), indent=2)
    replace_bytes(path, text + b"\n")


def replace_bytes(path: Path, content: bytes) -> None:
    """Write a new file next to the old one, sync it to disk, and rename it."""
    unfinished = path.with_name(path.name + ".new")
    try:
        with unfinished.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def sync(path: Path) -> None:
    """Sync a file, or a folder's list of names, to disk."""
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def own_file(path: Path) -> Path:
    """Return the path, which may be of no file, unless reading it would leave its folder.

    Raises :class:`StoreError`, which names the file.
    """
    if why := not_a_file(path):
        raise StoreError(
            "not_a_file", f"{why}.", "If it is yours, put a copy of that file in its place."
        )
    return path


def read_json(path: Path) -> dict[str, Any]:
    """Read the object in a file; an empty one if the run ended before the file was written.

    Raises :class:`StoreError`, which names the file and what is wrong with it.
    """
    try:
        return msgspec.json.decode(own_file(path).read_bytes(), type=dict[str, Any])
    except FileNotFoundError:
        return {}
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise StoreError("damaged", f"{path} is damaged: {error}", FROM_A_COPY) from error
    except OSError as error:
        raise StoreError("unreadable", f"{path} cannot be read: {error.strerror}") from error


def hold_lock(folder: Path) -> BinaryIO:
    """Take the lock of a new run folder; closing the file releases it.

    Child processes do not inherit Python's files, so a server that outlives this process does not
    keep the lock.
    """
    file = (folder / LOCK).open("wb")
    try:
        _take(file)
    except BlockingIOError:
        file.close()
        raise
    return file


def _take(lock: BinaryIO) -> None:
    """Take the lock; wait for readers that hold it for an instant to see whether the run is active.

    The limit is a number of tries and not a time: a suspended host suspends the reader, too.
    """
    for _ in range(LOOKS_MAX):
        with suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        time.sleep(LOOK_S)
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


def is_locked(folder: Path) -> bool:
    """Whether the process that writes this run is still alive."""
    try:
        with own_file(folder / LOCK).open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False
