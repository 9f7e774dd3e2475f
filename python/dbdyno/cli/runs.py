"""``dbdyno runs``: what was measured so far, one line a run; ``runs rm`` removes some."""

from datetime import timedelta

from rich.table import Table

from dbdyno import store
from dbdyno.cli.app import command
from dbdyno.cli.output import Exit, Json, print_aside, print_json, print_result, print_table
from dbdyno.words import milliseconds, plain, seconds, tps

app = command(
    "runs",
    "dbdyno runs                       all runs, newest first",
    "dbdyno runs rm 20261120-2142 last remove two; a name's beginning is enough",
)


@app.default
def runs(*, json: Json = False) -> int:
    """List the runs, newest first."""
    found = store.list_runs()
    if json:
        print_json({"runs": found})
    elif not found:
        print_aside(f"No runs in {store.runs_folder()}.")
    else:
        print_table(_table(found))
    return Exit.OK


@app.command
def rm(run: str, /, *runs: str) -> int:
    """Remove runs.

    Parameters
    ----------
    run
        A run's name, its unique beginning or end, a path, or last.
    runs
        Further ones.
    """
    # All are found before the first is removed: a slip of the pen removes nothing.
    for folder in [store.find_run(name) for name in dict.fromkeys((run, *runs))]:
        print_result(f"removed {store.remove_run(folder)}")
    return Exit.OK


def _table(found: list[store.RunSummary]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("run", "status", "valid"):
        table.add_column(heading, no_wrap=True)
    for heading in ("TPS", "p99", "measured", "age"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("tags")
    for run in found:
        table.add_row(*_row(run))
    return table


def _row(run: store.RunSummary) -> tuple[str, ...]:
    valid = {True: "yes", False: "no", None: ""}[run.valid]
    tags = " ".join(f"{key}={value}" for key, value in run.tags.items())
    length = "" if run.duration_s is None else seconds(run.duration_s)
    numbers = (tps(run.tps), milliseconds(run.p99_ms), length)
    return (run.run_id, run.status, valid, *map(plain, numbers), _age(run.age()), tags)


def _age(age: timedelta) -> str:
    age_s = age.total_seconds()
    for unit, length_s in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if age_s >= length_s:
            return f"{age_s / length_s:.0f}{unit}"
    return f"{age_s:.0f}s"
