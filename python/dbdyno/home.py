"""``DBDYNO_HOME``: the folder in which dbdyno keeps what outlives a command.

Only its owner may access it (mode 0700). If something cannot be written there, the error names the
variable; no other folder is used silently.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dbdyno.errors import DbdynoError

VARIABLE = "DBDYNO_HOME"


def home() -> Path:
    """The home folder, whether or not it exists."""
    chosen = os.environ.get(VARIABLE)
    return Path(chosen).absolute() if chosen else Path.home() / ".local" / "share" / "dbdyno"


def home_folder(*parts: str) -> Path:
    """Return a folder inside the home, created if necessary."""
    folder = home().joinpath(*parts)
    try:
        home().parent.mkdir(parents=True, exist_ok=True)
        for made in (home(), *reversed(folder.parents[: len(parts) - 1]), folder):
            made.mkdir(exist_ok=True, mode=0o700)
    except OSError as error:
        raise unwritable(folder, error) from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise unwritable(folder, PermissionError("not writable"))
    return folder


def unwritable(folder: Path, error: OSError) -> DbdynoError:
    """Return the error for a home that cannot hold ``folder``."""
    return DbdynoError(
        "home_unwritable",
        f"cannot write to {folder}: {error.strerror or error}",
        f"set {VARIABLE} to a folder of your own on a disk with room",
    )


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock file ``path`` within the block; other processes wait until it is released."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise unwritable(path, error) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
