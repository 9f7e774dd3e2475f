"""``dbdyno report``: a run's report, generated from its folder."""

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from dbdyno.analysis.summarize import full_record
from dbdyno.cli.app import Json, command
from dbdyno.cli.lookup import RunName
from dbdyno.cli.output import Exit, print_json, print_result, screen
from dbdyno.cli.pages import (
    RUN_KEPT,
    Form,
    PageParts,
    print_or_write,
    refuse_page_beside_text,
)
from dbdyno.report.pages.run import render_summary, run_page
from dbdyno.run.tools import engine_tools
from dbdyno.store.run import open_run

app = command(
    "report",
    "dbdyno report                     the last run, as a page in its run folder",
    "dbdyno report 20261120-2142 -o tpcb.html",
    "dbdyno report last -o tpcb.md     as Markdown, for an issue or a wiki",
    "dbdyno report --format text       the whole report as text",
    "dbdyno report last --charts charts --tables tables   as SVG, PNG and CSV",
    "dbdyno report last --text         the summary, as at the end of a run",
)


@app.default
def report(  # noqa: PLR0913 - one for each option
    run: RunName = "last",
    /,
    *,
    output: Annotated[Path | None, Parameter(name=["-o", "--output"], metavar="FILE")] = None,
    form: Annotated[Form | None, Parameter(name="--format")] = None,
    parts: PageParts = PageParts(),
    text: bool = False,
    json: Json = False,
) -> int:
    """Write a run's report as one HTML page, or as text, Markdown or JSON.

    The report is made from the files in the run folder, so any run will do: an old one, one
    that is still running, one that was interrupted. For studies see dbdyno study report. With
    --charts or --tables alone, no page is written; of the files in these folders, only those that
    dbdyno wrote there are replaced.

    Parameters
    ----------
    run
        The run's name, a unique part of it, a path, or last.
    output
        File to write; default report.html in the run folder.
    form
        The form of the report; default by the ending of FILE (.txt, .md, .json), else html.
        Without FILE, text, Markdown and JSON are printed.
    text
        Print the summary, as at the end of a run, instead.
    """
    refuse_page_beside_text(
        f"report {run}", output=output, form=form, parts=parts, text=text, json=json
    )
    found = open_run(run)
    recording = found.load(engine_tools().histograms)
    if json:
        print_json(full_record(recording))
    elif text:
        plan = recording.plan
        print_result(render_summary(full_record(recording), plan, screen(sys.stdout)).rstrip())
    else:
        usual = found.folder / "report.html"
        page = run_page(recording)
        parts.write(page)
        if not parts.are_wanted or output or form:
            print_or_write(page, output, form, usual=usual, otherwise=RUN_KEPT)
    return Exit.OK
