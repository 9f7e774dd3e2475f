"""Writes the report of a run to a file."""

from pathlib import Path

from dbdyno.cli.pages import write_page
from dbdyno.model.recording import Recording
from dbdyno.run.tools import engine_tools

_OTHERWISE = "The run is kept; write its report to another file: dbdyno report last -o FILE"


def write_html(recording: Recording, path: Path) -> None:
    """Write the page into an existing folder."""
    from dbdyno.report.html import render_html  # noqa: PLC0415 - not needed by runs without a report

    write_page(render_html(recording, engine_tools().histograms), path, _OTHERWISE)
