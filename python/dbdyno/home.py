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


def user_folder() -> Path | None:
    """The user's home directory; None for an account without one, as in many containers."""
    try:
        return Path.home()
    except RuntimeError:
        return None


def home() -> Path:
    """The home folder, whether or not it exists."""
    chosen, own = os.environ.get(VARIABLE), user_folder()
    if chosen:
        return _usable(Path(chosen).absolute())
    if own is None:
        raise DbdynoError(
            "no_home",
            "this account has no home directory, and HOME is not set",
            f"set {VARIABLE} to a folder of your own",
        )
    return _usable(own.absolute() / ".local" / "share" / "dbdyno")


def _usable(folder: Path) -> Path:
    """Refuse a path that neither our records, which are UTF-8, nor servers' settings can hold."""
    text = str(folder)
    if "\n" in text or text.encode(errors="replace").decode() != text:
        raise DbdynoError(
            "bad_home",
            f"{text!a} contains a line break, or is not UTF-8 text",
            f"set {VARIABLE} to another folder",
        )
    return folder


def home_folder(*parts: str) -> Path:
    """Return a folder inside the home, created if necessary."""
    folder = home().joinpath(*parts)
    try:
        make_closed(home(), *parts)
    except OSError as error:
        raise unwritable(folder, error) from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise unwritable(folder, PermissionError("not writable"))
    return folder


def make_closed(root: Path, *parts: str) -> Path:
    """Create folders inside each other that only their owner may enter; return the innermost."""
    root.parent.mkdir(parents=True, exist_ok=True)
    folder = root.joinpath(*parts)
    for made in (*reversed(folder.parents[: len(parts)]), folder):
        made.mkdir(exist_ok=True, mode=0o700)
    return folder


def leads_outside(path: Path) -> str:
    """Return that a path in a stored folder is a link out of it, and is not followed; else nothing.

    The folder may be somebody else's: the link could lead to anything of ours.
    """
    if not path.is_symlink() or Path(os.path.realpath(path)).is_relative_to(path.parent.resolve()):
        return ""
    return f"{path} is a link to {path.readlink()}, outside of its folder, and is not followed"


def not_a_file(path: Path) -> str:
    """Return why a file of a stored folder is not read; nothing for a plain one, or for none.

    A link may lead to any file of ours, and a pipe would be waited for.
    """
    is_other = path.exists() and not path.is_file()
    return leads_outside(path) or (f"{path} is not a file" if is_other else "")


def unwritable(folder: Path, error: OSError) -> DbdynoError:
    """Return the error for a home that cannot hold ``folder``."""
    is_file = isinstance(error, FileExistsError)  # folders that exist are used
    why = f"{error.filename} is not a folder" if is_file else error.strerror or str(error)
    return DbdynoError(
        "home_unwritable",
        f"cannot write to {folder}: {why}",
        f"set {VARIABLE} to a folder of your own on a disk with room",
    )


@contextmanager
def locked(path: Path, *, waits: bool = True) -> Iterator[None]:
    """Hold the lock file ``path`` within the block; other processes wait until it is released.

    Without ``waits``, :exc:`BlockingIOError` is raised if another process holds it.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise unwritable(path, error) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX if waits else fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)
