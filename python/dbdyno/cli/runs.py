"""``dbdyno runs``: lists the runs, one per line; ``runs rm`` removes some.

Runs of studies are never removed by age: a study's report is made from them, and they are removed
with it.
"""

import sys
from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from dbdyno.cli.age_option import Age
from dbdyno.cli.app import command, examples
from dbdyno.cli.lookup import find_all
from dbdyno.cli.output import Exit, Json, print_aside, print_json, print_lines, print_result, screen
from dbdyno.cli.tags import tags_of
from dbdyno.errors import DbdynoError
from dbdyno.formatting import milliseconds, plain, seconds, tps
from dbdyno.layout import Line, Paragraph, aligned, shortened, visible
from dbdyno.model.study import STUDY
from dbdyno.store.listing import RUN, find_run, remove_run
from dbdyno.store.places import runs_folder
from dbdyno.store.summary import RunSummary, list_runs

app = command(
    "runs",
    "dbdyno runs                        all runs, newest first",
    "dbdyno runs 20261120 tpcb          runs of one day and workload",
    "dbdyno runs tag:index=none         runs with a tag",
    "dbdyno runs rm 20261120-2142 last  remove two; part of a name is enough",
    "dbdyno runs rm --older 90d         remove runs older than 90 days",
)

HEADINGS = ("status", "valid", "TPS", "p99", "measured", "age")


class _Cells(NamedTuple):
    """The texts of a run's line."""

    name: str
    numbers: Sequence[str]
    tags: str


@app.default
def runs(*which: str, json: Json = False) -> int:
    """List the runs, newest first, with their tags.

    A run's name begins with its time (UTC) and workload. Other commands accept the name, a
    unique part of it, the path, or last, last~1 and so on.

    Parameters
    ----------
    which
        Only runs that match all of these: a part of the name of the run or of its study, or
        tag:NAME=VALUE.
    """
    found = [run for run in list_runs() if all(_is_meant(run, word) for word in which)]
    if json:
        print_json({"runs": found})
    elif not found:
        print_aside(_none_found(which))
    else:
        print_lines(_lines([_cells(run) for run in found], screen(sys.stdout)))
    return Exit.OK


@app.command(
    help_epilogue=examples(
        "dbdyno runs rm last",
        "dbdyno runs rm 20261120-2142 20261120-2150",
        "dbdyno runs rm tag:variant=wrong",
        "dbdyno runs rm --older 90d",
    )
)
def rm(*runs: str, older: Age = None) -> int:
    """Remove runs.

    Parameters
    ----------
    runs
        A run's name, a unique part of it, a path, or last; or tag:NAME=VALUE for all runs with
        this tag. With --older alone: all runs except those of studies, which dbdyno study rm
        removes.
    older
        Only runs that began at least this long ago: 90d, 12h; a bare number is in days.
    """
    if not runs and older is None:
        raise DbdynoError("usage", "no runs given", "See dbdyno runs rm --help.")
    chosen = [*chain.from_iterable(find_all(runs, _meant))] if runs else _of_no_study()
    if older is not None:
        old = {run.run_id for run in list_runs() if run.age() >= older}
        chosen = [folder for folder in chosen if folder.name in old]
    for folder in dict.fromkeys(chosen):
        print_result(f"removed {remove_run(folder)}")
    if not chosen:
        print_aside("No run is that old.")
    return Exit.OK


def _none_found(which: Sequence[str]) -> str:
    if which:
        return f"No runs with {' and '.join(which)} in {runs_folder()}. dbdyno runs lists all."
    return f"No runs in {runs_folder()}. {RUN.first}"


def _is_meant(run: RunSummary, word: str) -> bool:
    tags = tags_of(word)
    if tags is None:
        return word in run.run_id or word in run.tags.get(STUDY, "")
    return tags.items() <= run.tags.items()


def _meant(word: str) -> list[Path]:
    """Return the folders that one word means; exactly one for a name."""
    if tags_of(word) is None:
        return [find_run(word)]
    found = [_folder(run) for run in list_runs() if _is_meant(run, word)]
    if not found:
        raise DbdynoError("no_run", f"no run has {word}", "dbdyno runs lists them with their tags.")
    return found


def _of_no_study() -> list[Path]:
    return [_folder(run) for run in list_runs() if STUDY not in run.tags]


def _folder(run: RunSummary) -> Path:
    return runs_folder() / run.run_id


def _lines(found: Sequence[_Cells], columns: int | None) -> Iterator[Line]:
    """Format one line per run; on a narrow screen, tags are on indented lines below."""
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


def _cells(run: RunSummary) -> _Cells:
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
