"""Small files of the folder of a run or study: atomically replaced JSON, and the lock.

A run is running as long as a process holds the lock. The kernel releases it however that process
dies, so a run whose record says ``running`` but whose lock is free was interrupted.
"""

import errno
import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import msgspec

from dbdyno.home import not_a_file
from dbdyno.model.record import RunRecord
from dbdyno.model.study import StudyRecord
from dbdyno.store.errors import FROM_A_COPY, StoreError

RECORD = "run.json"
PLAN = "plan.json"
HOST = "host.json"
SERVER = "server.json"
ENGINE = "engine.json"
FACTS = "facts.json"
SCHEMA = "schema.json"
LOG = "log.txt"
LOCK = "lock"
LOOK_S = 0.02
LOOKS_MAX = 20  # tries, enough to wait for a reader even on a busy host

Record = TypeVar("Record", RunRecord, StudyRecord)


def replace_json(path: Path, value: object) -> None:
    """Write JSON so that a reader sees either the old file or the new one, never a part."""
    text = msgspec.json.format(msgspec.json.encode(value), indent=2)
    replace_bytes(path, text + b"\n")


def replace_bytes(path: Path, content: bytes) -> None:
    """Write a new file next to the old one, sync it to disk, and rename it."""
    # A name that nobody has: a file beside the user's own may be another one of theirs.
    unfinished = path.with_name(f"{path.name[:200]}.{os.urandom(4).hex()}.new")
    try:
        with unfinished.open("xb") as file:
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


def read_current(path: Path, kind: type[Record], newest_format: int, **known: object) -> Record:
    """Return the record in a file, with its current status; what is ``known`` it cannot claim.

    Raises :class:`StoreError`, also for a record of a newer dbdyno.
    """
    try:
        found = read_json(path)
        version = found.get("format_version")
        if isinstance(version, int) and version > newest_format:
            raise StoreError(
                "newer_format",
                f"{path} has format {version}; this dbdyno reads up to {newest_format}.",
                "Open it with the version that wrote it, or a later one.",
            )
        record = msgspec.convert(found | known, kind)
        if record.status == "running" and not is_locked(path.parent):
            record = msgspec.structs.replace(record, status="interrupted")
    except msgspec.MsgspecError as error:
        noun = "run" if kind is RunRecord else "study"
        message = f"{path} is not a {noun}'s record: {error}"
        raise StoreError("damaged", message, FROM_A_COPY) from error
    except OSError as error:
        raise StoreError("unreadable", f"{path} cannot be read: {error.strerror}") from error
    return record


def hold_lock(folder: Path) -> BinaryIO:
    """Take the lock of a new run folder; closing the file releases it.

    Child processes do not inherit Python's files, so a server that outlives this process does not
    keep the lock. Readers hold it for an instant, to see whether the run is active: the limit on
    waiting for them is a number of tries, since a suspended host suspends the reader, too.
    """
    file = (folder / LOCK).open("wb")
    for _ in range(LOOKS_MAX):
        with suppress(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return file
        time.sleep(LOOK_S)
    file.close()
    raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))


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
