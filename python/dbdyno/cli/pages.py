"""A page that was made, written where it was asked for."""

from pathlib import Path
from typing import Annotated, TypeAlias

from cyclopts import Parameter

from dbdyno.cli.output import print_aside
from dbdyno.errors import DbdynoError

ReportFile: TypeAlias = Annotated[Path | None, Parameter(name="--report", metavar="FILE")]


def write_page(page: str, path: Path) -> None:
    """Writes it and says where; its folder must be there."""
    try:
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise DbdynoError(
            "report_unwritable",
            f"cannot write {path}: {error.strerror or error}",
            "Name a file in a folder that is there: --report FILE. All runs are kept.",
        ) from error
    print_aside(f"report: {path}")
