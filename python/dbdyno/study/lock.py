"""One study at a time on a host: two would disturb each other's measurements.

The lock is in the folder for temporary files, which all users share. The kernel releases it however
its holder dies.
"""

import fcntl
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from dbdyno.errors import DbdynoError

NAME = "dbdyno-study.lock"
READABLE = 0o644
# Anybody may have created the file: a link is not followed, and a pipe not waited for.
SAFELY = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


@contextmanager
def machine_held(study_id: str) -> Iterator[None]:
    """Prevent other studies on this host within the block; refused while one is running."""
    path = Path(tempfile.gettempdir()) / NAME
    descriptor = _opened(path)
    try:
        _take(descriptor, path)
        _leave_name(descriptor, study_id)
        yield
    finally:
        os.close(descriptor)


def _opened(path: Path) -> int:
    """Open the lock file; another user's can be locked, but not written."""
    try:
        with suppress(PermissionError):
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | SAFELY, READABLE)
            with suppress(OSError):
                os.fchmod(descriptor, READABLE)  # whatever the umask of who created it
            return descriptor
        return os.open(path, os.O_RDONLY | SAFELY)
    except OSError as error:
        raise DbdynoError(
            "unusable_lock",
            f"cannot open {path}, which keeps studies apart: {error.strerror}",
            "remove it, or have its owner do so",
        ) from error


def _take(descriptor: int, path: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise DbdynoError(
            "study_running",
            f"{_holder(path)} is running on this host, and two studies would disturb each other",
            "Wait for it, or stop it: its results so far are kept, and it can be resumed.",
        ) from error


def _leave_name(descriptor: int, study_id: str) -> None:
    with suppress(OSError):  # another user's file: the lock holds nevertheless
        os.ftruncate(descriptor, 0)
        os.write(descriptor, json.dumps({"study": study_id, "process": os.getpid()}).encode())


def _holder(path: Path) -> str:
    """Describe the study that holds the lock, as far as it could write its name."""
    try:
        holder = json.loads(path.read_text())
        return f"the study {holder['study']} (process {holder['process']})"
    except (OSError, ValueError, KeyError, TypeError):
        return "another study"
