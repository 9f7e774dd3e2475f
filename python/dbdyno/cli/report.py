"""``dbdyno report``: a run's report, generated from its folder."""

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from dbdyno.analysis.summarize import full_record
from dbdyno.cli.app import command
from dbdyno.cli.output import Exit, Json, print_json, print_result, refuse_several_forms, screen
from dbdyno.cli.reporting import write_html
from dbdyno.model.record import RunRecord
from dbdyno.model.recording import Recording
from dbdyno.report import render_text
from dbdyno.run.tools import engine_tools
from dbdyno.store.run import open_run

app = command(
    "report",
    "dbdyno report                     the last run, as a page in its run folder",
    "dbdyno report 20261120-2142 -o tpcb.html",
    "dbdyno report last --text         as text, as at the end of a run",
)


@app.default
def report(
    run: str = "last",
    /,
    *,
    output: Annotated[Path | None, Parameter(name=["-o", "--output"], metavar="FILE")] = None,
    text: bool = False,
    json: Json = False,
) -> int:
    """Write a run's report as one self-contained HTML page, or as text.

    The report is made from the files in the run folder, so any run will do: an old one, one
    that is still running, one that was interrupted. For studies see dbdyno study report.

    Parameters
    ----------
    run
        The run's name, a unique part of it, a path, or last.
    output
        File to write; default report.html in the run folder.
    text
        Print the text report, as at the end of a run, instead.
    """
    forms = {"--output": output is not None, "--text": text, "--json": json}
    refuse_several_forms(f"report {run}", forms)
    found = open_run(run)
    recording = found.recording()
    if json:
        print_json(_record(recording))
    elif text:
        print_result(render_text(_record(recording), recording.plan, screen(sys.stdout)).rstrip())
    else:
        path = output or found.folder / "report.html"
        write_html(recording, path)
        print_result(str(path))
    return Exit.OK


def _record(recording: Recording) -> RunRecord:
    """Return the complete record, with the numbers so far of a run that has not finished."""
    return full_record(recording, engine_tools().histograms)
