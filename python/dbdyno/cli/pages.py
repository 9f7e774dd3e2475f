"""Pages that were made, written where they were asked for, and what keeps one from being."""

import os
from pathlib import Path
from typing import Annotated, TypeAlias

from cyclopts import Parameter

from dbdyno.cli.output import print_aside
from dbdyno.errors import DbdynoError
from dbdyno.home import home, home_folder

ReportFile: TypeAlias = Annotated[Path | None, Parameter(name="--report", metavar="FILE")]
ANOTHER_FILE = "Name a file in an existing folder: --report FILE. All runs are kept."


def refuse_unwritable(path: Path | None) -> None:
    """Tells before anything is measured what would keep the page from being written after it."""
    if path is None:
        return
    if path.absolute().parent == home():
        home_folder()  # the first run would make it
    if path.is_dir():
        raise _unwritable(path, "is a folder")
    if not path.parent.is_dir():
        raise _unwritable(path, f"folder {path.parent} does not exist")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise _unwritable(path, "permission denied")


def write_page(page: str, path: Path, otherwise: str = ANOTHER_FILE) -> None:
    """Writes it; its folder must be there. ``otherwise`` says how to have it all the same."""
    try:
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise _unwritable(path, error.strerror or str(error), otherwise) from error


def tell_page(path: Path) -> None:
    """Where it is, beside a result that is shown."""
    print_aside(f"report: {path}")


def _unwritable(path: Path, why: str, otherwise: str = ANOTHER_FILE) -> DbdynoError:
    return DbdynoError("report_unwritable", f"cannot write {path}: {why}", otherwise)
