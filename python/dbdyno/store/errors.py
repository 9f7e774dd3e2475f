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
        raise _explain(doing, path, error) from error


def _explain(doing: str, path: Path, error: OSError) -> StoreError:
    reason = error.strerror or str(error)
    if error.errno in NO_SPACE_ERRORS:
        hint = "Free some space, or set DBDYNO_HOME to a folder on another file system."
        return StoreError("disk_full", f"no space left while {doing} {path}: {reason}", hint)
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        hint = "Set DBDYNO_HOME to a folder that you may write to."
        return StoreError("not_writable", f"permission denied while {doing} {path}: {reason}", hint)
    hint = "Check the disk, or set DBDYNO_HOME to a folder on another one."
    return StoreError("io", f"failed while {doing} {path}: {reason}", hint)
