"""``dbdyno run``: measures, shows the result, and returns an exit code for its validity."""

import sys
from contextlib import ExitStack
from typing import Annotated, TypeAlias

from cyclopts import Parameter

from dbdyno.cli.app import command
from dbdyno.cli.live_screen.screen import LiveScreen, refuse_no_terminal
from dbdyno.cli.lookup import workload_names
from dbdyno.cli.metrics import MetricsOf, metrics_place
from dbdyno.cli.output import Exit, print_json, print_result, screen, showing_kept_result
from dbdyno.cli.pages import RUN_KEPT, print_report_path, refuse_unwritable, write_page
from dbdyno.cli.progress import ProgressLines
from dbdyno.model.record import RunRecord
from dbdyno.model.run import Run
from dbdyno.report.pages.run import render_summary, run_page
from dbdyno.run.job import check
from dbdyno.run.observer import Observer
from dbdyno.run.options.grammar import WeightedName, weighted_name
from dbdyno.run.options.parameters import OUTPUT, flag, parsed
from dbdyno.run.options.run_options import RunOptions
from dbdyno.run.plan import progress_ns
from dbdyno.run.runner import run as run_it
from dbdyno.run.tools import engine_tools

Tui: TypeAlias = Annotated[bool, flag("--tui", group=OUTPUT)]
Metrics: TypeAlias = Annotated[
    tuple[str, int] | None,
    Parameter(
        name="--metrics",
        group=OUTPUT,
        converter=parsed(metrics_place),
        n_tokens=1,
        metavar="[HOST]:PORT",
    ),
]

app = command(
    "run",
    "dbdyno run tpcb -s 50 -c 32 -T 60",
    "dbdyno run pk -D operation=select --rate 5000 -L 20",
    "dbdyno run app.sql@3 other.sql --target postgresql://db/app -T 300",
    "dbdyno run tpcb --server postgres:17,fsync=off --set work_mem=64MB",
    "dbdyno run select-only --stages 30s:8c,30s:64c --json > run.json",
    "dbdyno run tpcb -c 32 -T 300 --tui",
    "dbdyno run oltp_read_write.lua --server mariadb -- --tables=4 --threads=8",
)

What = Annotated[
    WeightedName,
    Parameter(
        converter=parsed(weighted_name), n_tokens=1, accepts_keys=False, completer=workload_names
    ),
]


@app.default
def run(
    *what: What, options: RunOptions = RunOptions(), tui: Tui = False, metrics: Metrics = None
) -> int:
    """Run a workload or scripts against a database and measure it.

    Without --target or --server, dbdyno starts a private PostgreSQL, loads the data, and stops
    the server after the run. Existing data that matches the workload is used as it is. Options
    of a sysbench script follow --, in sysbench's syntax.

    Every run is kept: dbdyno runs lists them, dbdyno explain explains what limited one.
    Exits with 2 if the run failed after it began, with 3 if its result is not valid.

    Parameters
    ----------
    what
        A workload (its data is loaded if missing), or script files; @3 after a name gives it
        the weight 3, and @3@read lets it run on standbys. dbdyno workloads lists the workloads
        and their parameters.
    tui
        Show the run on the full screen while it lasts: throughput, response times, what clients
        wait for, the lock queue and the findings so far. q ends the run, as Ctrl-C does.
    metrics
        Answer scrapers (OpenMetrics, at /metrics) while the run lasts; :9100 for this host only.
    """
    refuse_unwritable(options.report)
    if tui:
        refuse_no_terminal()
    tools = engine_tools()
    job = check(what, options, tools, ProgressLines(0).say)
    lines = ProgressLines(progress_ns(job.options))
    title = " ".join(["dbdyno run", *(one.name for one in (*what, *options.script_files))])
    with ExitStack() as shown:
        progress: Observer = shown.enter_context(LiveScreen(title, lines) if tui else lines)
        if metrics is not None:
            watched = MetricsOf(metrics, progress, tools.histograms)
            progress = shown.enter_context(watched)
        recording = run_it(job, tools, progress)
    with showing_kept_result("The run is kept: dbdyno report last --text"):
        _show(recording, options)
    return exit_of(recording.record)


def _show(recording: Run, options: RunOptions) -> None:
    if options.report is not None:
        write_page(run_page(recording), options.report, RUN_KEPT)
        print_report_path(options.report)
    if options.json:
        print_json(recording.record)
    else:
        plan = recording.plan
        print_result(render_summary(recording.record, plan, screen(sys.stdout)).rstrip())


def exit_of(record: RunRecord) -> Exit:
    """Return the exit code for a run's end and validity."""
    if record.status == "done":
        return Exit.OK if record.valid else Exit.NOT_VALID
    return Exit.INTERRUPTED if record.status == "interrupted" else Exit.FAILED
