"""``dbdyno history``: comparable runs over time, and when their level changed."""

from collections.abc import Iterable

from dbdyno.analysis.compare.metrics import metrics_of
from dbdyno.analysis.compare.run_series import (
    RUNS_MIN,
    is_of_a_history,
    place_of,
    series_of,
)
from dbdyno.cli.app import Json, command
from dbdyno.cli.lookup import WorkloadName, metric_named
from dbdyno.cli.output import Exit, print_aside, print_json, refuse_several_forms
from dbdyno.cli.pages import (
    FormOption,
    PageParts,
    ReportFile,
    print_page,
    print_report_path,
    write_page,
)
from dbdyno.databases.connecting import names_database
from dbdyno.errors import DbdynoError
from dbdyno.formatting import counted
from dbdyno.model.run import Conditions
from dbdyno.report.pages.history import history_object, history_page
from dbdyno.store.errors import StoreError, leave_out
from dbdyno.store.listing import runs_folder
from dbdyno.store.run import RunFolder
from dbdyno.store.summary import RunSummary, list_runs
from dbdyno.workloads.registry import default_texts

app = command(
    "history",
    "dbdyno history                    all series with enough runs",
    "dbdyno history tpcb --metric tps --metric wal_bytes",
    "dbdyno history app --target postgresql://db/app --report history.html",
    "dbdyno history tpcb --format markdown > history.md",
    "dbdyno history tpcb --charts charts",
)


@app.default
def history(  # noqa: PLR0913 - one for each option
    workload: WorkloadName | None = None,
    /,
    *,
    target: str | None = None,
    metric: tuple[str, ...] = (),
    report: ReportFile = None,
    form: FormOption = None,
    parts: PageParts = PageParts(),
    json: Json = False,
) -> int:
    """Show results of comparable runs over time, and when their level changed.

    A series holds runs with the same workload, server, clients, rate, data, query mode and,
    for sysbench scripts, options; a default that is given explicitly makes no difference. Each
    change is shown with the costs per transaction that changed with it, with the subsystems and
    functions of the server that did (--telemetry full), and with what else differs from that
    run on: version, settings, host, scripts. Runs of studies and searches, and invalid runs, are
    left out.

    Parameters
    ----------
    workload
        Only runs of this workload or script.
    target
        Only runs on this database; parts that the URL leaves out, such as the port, may be any.
    metric
        Metric to show: its id or a part of it, such as tps, p99 or wal_bytes; repeatable. By
        default the usual ones.
    report
        Write a page with charts of the series to this file; .txt, .md and .json by its ending.
    """
    refuse_several_forms("history", {"--format": form is not None, "--json": json})
    runs = _runs(workload, target)
    known = dict.fromkeys(name for run in runs for name in metrics_of(run.record))
    metrics = [metric_named(name, known) for name in metric] or None
    shown = []
    for series in series_of(runs, metrics, default_texts()):
        if len(series.runs) >= RUNS_MIN:
            shown.append(series)
        else:
            few = f"{counted(len(series.runs), 'run')}, {RUNS_MIN} needed"
            print_aside(f"too few for a history ({few}): {series.kind.text}")
    if report is not None:
        write_page(history_page(shown), report)
        print_report_path(report)
    parts.write(history_page(shown))
    if json:
        print_json(history_object(shown))
    elif shown:
        print_page(history_page(shown), form)
    return Exit.OK


def _runs(workload: str | None, target: str | None) -> list[Conditions]:
    """Return the selected runs; if there are none, raise an error that says what there is."""
    usable = [
        run
        for run in list_runs()
        if is_of_a_history(run.status, run.valid, run.tags, is_imported=run.tool is not None)
    ]
    meant = _opened(
        run
        for run in usable
        if workload in (None, run.workload)
        and (target is None or names_database(target, run.target))
    )
    if not meant:
        records = [run.record for run in _opened(usable)]
        there = {f"{one.workload} on {place_of(one)}" for one in records}
        raise DbdynoError(
            "no_run",
            "no valid run matches",
            f"There are runs of {'; '.join(sorted(there))}."
            if there
            else "Start one: dbdyno run tpcb",
        )
    return meant


def _opened(listed: Iterable[RunSummary]) -> list[Conditions]:
    """Return the conditions of the runs; a damaged one is left out with a warning."""
    runs = []
    for one in listed:
        folder = runs_folder() / one.run_id
        try:
            runs.append(RunFolder(folder).conditions)
        except StoreError as error:
            leave_out(folder, error)
    return runs
