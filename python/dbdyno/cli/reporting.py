"""The page of a run, written to a file."""

from pathlib import Path

from dbdyno.errors import DbdynoError
from dbdyno.model.recording import Recording
from dbdyno.run.tools import engine_tools


def write_html(recording: Recording, path: Path) -> None:
    """Writes the page; its folder must be there."""
    from dbdyno.report.html import render_html  # noqa: PLC0415 - a run without is spared it

    page = render_html(recording, engine_tools().histograms)
    try:
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise DbdynoError(
            code="report_unwritable",
            message=f"cannot write {path}: {error.strerror or error}",
            hint="The run is kept: dbdyno report last -o FILE writes it elsewhere.",
        ) from error
