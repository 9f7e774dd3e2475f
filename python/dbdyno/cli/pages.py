"""Writes report pages to the requested files, and detects beforehand what would prevent it."""

import os
from pathlib import Path
from stat import S_IMODE
from typing import Annotated, TypeAlias

from cyclopts import Parameter

from dbdyno.cli.output import print_aside
from dbdyno.errors import DbdynoError
from dbdyno.home import home, home_folder
from dbdyno.store.files import replace_bytes

ReportFile: TypeAlias = Annotated[Path | None, Parameter(name="--report", metavar="FILE")]
ANOTHER_FILE = "Name a file in an existing folder: --report FILE. All runs are kept."


def refuse_unwritable(path: Path | None) -> None:
    """Raise an error before anything is measured if the page could not be written afterwards."""
    if path is None:
        return
    if path.absolute().parent == home():
        home_folder()  # otherwise the first run would create it
    if path.is_dir():
        raise _unwritable(path, "is a folder")
    if not path.parent.is_dir():
        raise _unwritable(path, f"folder {path.parent} does not exist")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise _unwritable(path, "permission denied")


def write_page(page: str, path: Path, otherwise: str = ANOTHER_FILE) -> None:
    """Write a page into an existing folder; ``otherwise`` says how to get it if this fails."""
    try:
        if _is_replaceable(path):
            _replace(path.resolve(), page)
        else:
            path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise _unwritable(path, error.strerror or str(error), otherwise) from error


def _is_replaceable(path: Path) -> bool:
    """Whether a new file can take its place; not that of a device, or in a folder closed to us."""
    return not path.exists() or (path.is_file() and os.access(path.resolve().parent, os.W_OK))


def _replace(path: Path, page: str) -> None:
    """Write the page beside an old one, which a full disk must not cut off, and keep its rights."""
    rights = S_IMODE(path.stat().st_mode) if path.exists() else None
    replace_bytes(path, page.encode())
    if rights is not None:
        path.chmod(rights)


def print_report_path(path: Path) -> None:
    """Report where the page is, in addition to the result."""
    print_aside(f"report: {path}")


def _unwritable(path: Path, why: str, otherwise: str = ANOTHER_FILE) -> DbdynoError:
    return DbdynoError("report_unwritable", f"cannot write {path}: {why}", otherwise)
