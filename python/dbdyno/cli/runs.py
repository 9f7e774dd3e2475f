"""``dbdyno runs``: what was measured so far, one line a run; ``runs rm`` removes some."""

import sys
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import NamedTuple

from dbdyno import store
from dbdyno.cli.app import command, examples
from dbdyno.cli.output import Exit, Json, print_aside, print_json, print_lines, print_result, screen
from dbdyno.layout import Line, Paragraph, aligned, shortened, visible
from dbdyno.words import milliseconds, plain, seconds, tps

app = command(
    "runs",
    "dbdyno runs                        all runs, newest first",
    "dbdyno runs rm 20261120-2142 last  remove two; a name's beginning is enough",
)

HEADINGS = ("status", "valid", "TPS", "p99", "measured", "age")


class _Cells(NamedTuple):
    """A run's words."""

    name: str
    numbers: Sequence[str]
    tags: str


@app.default
def runs(*, json: Json = False) -> int:
    """List the runs, newest first, with their tags.

    A run is named by any part of its name that no other has, by its path, or as last, last~1
    and so on.
    """
    found = store.list_runs()
    if json:
        print_json({"runs": found})
    elif not found:
        print_aside(f"No runs in {store.runs_folder()}.")
    else:
        print_lines(_lines([_cells(run) for run in found], screen(sys.stdout)))
    return Exit.OK


@app.command(
    help_epilogue=examples(
        "dbdyno runs rm last",
        "dbdyno runs rm 20261120-2142 20261120-2150",
    )
)
def rm(run: str, /, *runs: str) -> int:
    """Remove runs.

    Parameters
    ----------
    run
        A run's name, a part of it that no other has, a path, or last.
    runs
        Further ones.
    """
    # All are found before the first is removed: a slip of the pen removes nothing.
    for folder in [store.find_run(name) for name in dict.fromkeys((run, *runs))]:
        print_result(f"removed {store.remove_run(folder)}")
    return Exit.OK


def _lines(found: Sequence[_Cells], columns: int | None) -> Iterator[Line]:
    """A line a run. Where they are too narrow for tags, those stand below, set in."""
    numbers = list(aligned([HEADINGS, *(run.numbers for run in found)], left=2))
    longest = max(len(run.name) for run in found)
    room = longest if columns is None else min(longest, columns - len(numbers[0]) - 2)
    names = ["run", *(shortened(run.name, room) for run in found)]
    lines = [f"{name.ljust(room)}  {line}" for name, line in zip(names, numbers, strict=True)]
    tags = ["tags", *(run.tags for run in found)]
    beside = [f"{line}  {own}".rstrip() for line, own in zip(lines, tags, strict=True)]
    if columns is None or max(map(len, beside)) <= columns:
        yield from beside
        return
    yield lines[0]
    for line, own in zip(lines[1:], tags[1:], strict=True):
        yield line
        yield from [Paragraph(f"  {own}", "    ")] if own else []


def _cells(run: store.RunSummary) -> _Cells:
    valid = {True: "yes", False: "no", None: ""}[run.valid]
    tags = " ".join(f"{key}={value}" for key, value in run.tags.items())
    length = "" if run.duration_s is None else seconds(run.duration_s)
    numbers = (tps(run.tps), milliseconds(run.p99_ms), length)
    return _Cells(
        run.run_id, (run.status, valid, *map(plain, numbers), _age(run.age())), visible(tags)
    )


def _age(age: timedelta) -> str:
    age_s = age.total_seconds()
    for unit, length_s in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if age_s >= length_s:
            return f"{age_s / length_s:.0f}{unit}"
    return f"{age_s:.0f}s"
