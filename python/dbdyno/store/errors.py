"""Errors of run folders, worded for the user."""

import errno
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dbdyno.errors import DbdynoError

NO_SPACE_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


FROM_A_COPY = "Restore it from a copy, if there is one; other runs are not affected."


class StoreError(DbdynoError):
    """A run folder cannot be written or read."""


class LeftOut(UserWarning):
    """Warning that an unreadable run was left out, so that the other runs can still be shown."""


def leave_out(folder: Path, error: DbdynoError) -> None:
    """Warn which run was left out, and why."""
    warnings.warn(LeftOut(f"{folder.name} is left out: {error.message}"), stacklevel=3)


@contextmanager
def explained(doing: str, path: Path) -> Iterator[None]:
    """Turn errors of the operating system into a :class:`StoreError` that says what to do."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        code, what = "io", "failed"
        hint = "Check the disk, or set DBDYNO_HOME to a folder on another one."
        if error.errno in NO_SPACE_ERRORS:
            code, what = "disk_full", "no space left"
            hint = "Free some space, or set DBDYNO_HOME to a folder on another file system."
        elif error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            code, what = "not_writable", "permission denied"
            hint = "Set DBDYNO_HOME to a folder that you may write to."
        raise StoreError(code, f"{what} while {doing} {path}: {reason}", hint) from error
