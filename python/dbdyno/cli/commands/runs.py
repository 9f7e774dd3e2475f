"""``dbdyno runs``: lists the runs, one per line; ``runs tag`` and ``runs rm`` change some.

Runs that a study or a search made for its own result are one line together, so that they do not
hide the user's. Runs of studies are never removed by age: a study's report is made from them, and
they are removed with it.
"""

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from itertools import chain
from pathlib import Path
from typing import Annotated, NamedTuple

from cyclopts import Parameter

from dbdyno.cli.app import Json, command
from dbdyno.cli.lookup import Age, RunName, find_all
from dbdyno.cli.output import (
    Exit,
    examples,
    print_aside,
    print_json,
    print_lines,
    print_result,
    screen,
)
from dbdyno.errors import DbdynoError
from dbdyno.formatting import milliseconds, seconds, size, tps
from dbdyno.layout import Columns, Line, Paragraph, aligned, visible
from dbdyno.model.study import STUDY
from dbdyno.run.options.grammar import assignment, names_and_tags, tags_of
from dbdyno.run.options.parameters import parsed
from dbdyno.store.listing import RUN, find_run, remove_run, retag_run, runs_folder
from dbdyno.store.summary import MadeFor, RunFilter, RunSummary, State, list_runs

app = command(
    "runs",
    "dbdyno runs                        all runs, newest first",
    "dbdyno runs 20261120 tpcb          runs of one day and workload",
    "dbdyno runs tag:index=none         runs with a tag",
    "dbdyno runs --since 2d --status not-valid",
    "dbdyno runs --columns tps,wal,command",
    "dbdyno runs tag last index=none    give a run a tag",
    "dbdyno runs rm 20261120-2142 last  remove two; part of a name is enough",
    "dbdyno runs rm --older 90d         remove runs older than 90 days",
)

_GAP = 2


def _rate(run: RunSummary) -> str:
    if run.loop != "open":
        return ""
    return "varies" if run.rate_tps is None else tps(run.rate_tps)


def _known(write: Callable[[float], str], value: float | None) -> str:
    return "" if value is None else write(value)


class _Column(NamedTuple):
    heading: str
    cell: Callable[[RunSummary], str]


_TEXTS: Mapping[str, _Column] = {
    "tags": _Column("tags", lambda run: visible(" ".join(map("=".join, run.tags.items())))),
    "command": _Column("command", lambda run: visible(run.command)),
}
"""Columns of any width: the last ones, or on a narrow screen below the others."""
# The most important first: on a narrow screen, the last are left out.
_COLUMNS: Mapping[str, _Column] = {
    "status": _Column("status", lambda run: run.state.replace("-", " ")),
    "tps": _Column("TPS", lambda run: tps(run.tps)),
    "p99": _Column("p99", lambda run: milliseconds(run.p99_ms)),
    "clients": _Column("clients", lambda run: _known(str, run.clients)),
    "age": _Column("age", lambda run: _age(run.age())),
    "rate": _Column("rate", _rate),
    "scale": _Column("scale", lambda run: _known(str, run.scale)),
    "wal": _Column("WAL/txn", lambda run: _known(size, run.wal_bytes)),
    "durability": _Column("durability", lambda run: run.promise or ""),
    "mode": _Column("mode", lambda run: run.query_mode or ""),
    "threads": _Column("threads", lambda run: _known(str, run.threads)),
    "measured": _Column("measured", lambda run: _known(seconds, run.duration_s)),
}
_ALWAYS = 3
_WORDS = frozenset({*_TEXTS, "workload"})
_BY_NAME = {
    **_COLUMNS,
    **_TEXTS,
    "workload": _Column("workload", lambda run: visible(run.workload)),
}
_NOT_VALID = frozenset({"not-valid", "failed", "interrupted"})


class _Entry(NamedTuple):
    """A line of the list: a run, or a group of them by its newest."""

    name: str
    run: RunSummary
    number: int = 1
    not_valid: int = 0

    def cell(self, name: str) -> str:
        """Return the text of a column."""
        if self.number == 1:
            return _BY_NAME[name].cell(self.run)
        of_them = f", {self.not_valid} not valid" if self.not_valid else ""
        status = f"{self.run.made_for}: {self.number}{of_them}"
        return {"status": status, "age": _age(self.run.age())}.get(name, "")


@app.default
def runs(  # noqa: PLR0913 - filters, and what is shown
    *which: str,
    workload: str | None = None,
    status: State | None = None,
    since: Age = None,
    made_for: MadeFor | None = None,
    every: Annotated[bool, Parameter(name="--all", negative=())] = False,
    columns: Annotated[str | None, Parameter(metavar="NAME[,…]")] = None,
    json: Json = False,
) -> int:
    """List the runs, newest first; dbdyno runs tag and dbdyno runs rm change some.

    A run's name begins with its time (UTC) and workload. Other commands accept the name, a
    unique part of it, the path, or last, last~1 and so on. The runs of a study, a search or a
    verification are one line together, unless they are selected by WHICH or --made-for.

    Parameters
    ----------
    which
        Only runs that match all of these: a part of the name of the run, or of the study or
        search that made it, or tag:NAME=VALUE.
    workload
        Only runs of this workload or these scripts.
    status
        Only runs with this status.
    since
        Only runs that began at most this long ago: 2d, 12h; a bare number is in days.
    made_for
        Only runs that a study, a search or explain --verify made; nothing: all others.
    every
        One line for every run.
    columns
        What to show, in this order: status, tps, p99, clients, age, rate, scale, wal, durability,
        mode, threads, measured, tags, command, workload. Default: as many as the screen has room
        for, in this order, with the tags.
    """
    chosen = None if columns is None else _chosen(columns)
    names, tags = names_and_tags(which)
    wanted = RunFilter(
        names=names,
        tags=tags,
        workload=workload,
        state=status,
        made_for=made_for,
        age_max=since,
    )
    found = [*filter(wanted.admits, list_runs())]
    is_narrowed = bool(which or workload or status or since or made_for)
    if json:
        print_json({"runs": found})
    elif not found:
        words = f" with {' and '.join(which)}" if which else " like that"
        print_aside(
            f"No runs{words} in {runs_folder()}. dbdyno runs lists all."
            if is_narrowed
            else f"No runs in {runs_folder()}. {RUN.first}"
        )
    else:
        is_folded = not (which or made_for or every)
        each = (_Entry(run.run_id, run) for run in found)
        _show(list(_folded(found) if is_folded else each), chosen)
    return Exit.OK


def _chosen(text: str) -> list[str]:
    names = [name.strip().lower() for name in text.split(",")]
    if unknown := [name for name in names if name not in _BY_NAME]:
        raise DbdynoError(
            "usage", f'no column "{unknown[0]}"', f"Columns are {', '.join(_BY_NAME)}."
        )
    return names


def _folded(found: Sequence[RunSummary]) -> Iterator[_Entry]:
    """Put the runs that were made for one result on one line, where the newest of them is."""
    results = [(run.made_for, run.tags[run.made_for]) if run.made_for else None for run in found]
    numbers = Counter(results)
    not_valid = Counter(
        result for run, result in zip(found, results, strict=True) if run.state in _NOT_VALID
    )
    for run, result in zip(found, results, strict=True):
        if result is None:
            yield _Entry(run.run_id, run)
        elif number := numbers.pop(result, 0):
            is_one = number == 1
            name = run.run_id if is_one else result[1]
            yield _Entry(name, run, number, not_valid[result])


def _show(entries: Sequence[_Entry], chosen: Sequence[str] | None) -> None:
    columns = screen(sys.stdout)
    if chosen is not None:
        rows = [[entry.name, *map(entry.cell, chosen)] for entry in entries]
        headings = ["run", *(_BY_NAME[name].heading for name in chosen)]
        texts = {0, *(place for place, name in enumerate(chosen, start=1) if name in _WORDS)}
        print_lines([Columns([headings, *rows], left=texts)])
    else:
        print_lines(_lines(entries, columns))
    group = next((entry for entry in entries if entry.number > 1), None)
    if group is not None:
        print_aside(
            f"Each run of a {group.run.made_for}: dbdyno runs {group.name}. "
            "Of all: dbdyno runs --all."
        )


Tag = Annotated[
    tuple[str, str],
    Parameter(converter=parsed(assignment), n_tokens=1, accepts_keys=False, metavar="NAME=VALUE"),
]


@app.command(
    help_epilogue=examples(
        "dbdyno runs tag last index=none",
        "dbdyno runs tag 20261120-2142 change=before reviewed=yes",
        "dbdyno runs tag last --without index",
    )
)
def tag(
    run: RunName,
    /,
    *tags: Tag,
    without: Annotated[tuple[str, ...], Parameter(metavar="NAME", negative=())] = (),
) -> int:
    """Give a run tags, as dbdyno run --tag does, or take some away.

    Tags by which a study, a search or a verification knows its runs are not changed.

    Parameters
    ----------
    run
        A run's name, a unique part of it, a path, or last.
    tags
        Tags, by which runs can be listed and compared: tag:NAME=VALUE.
    without
        Name of a tag to take away; repeatable.
    """
    if not tags and not without:
        raise DbdynoError("usage", "no tags given", "See dbdyno runs tag --help.")
    record = retag_run(run, dict.fromkeys(without) | dict(tags))
    print_result(f"{record.run_id}: {visible(' '.join(map('='.join, record.tags.items())))}")
    return Exit.OK


@app.command(
    help_epilogue=examples(
        "dbdyno runs rm last",
        "dbdyno runs rm 20261120-2142 20261120-2150",
        "dbdyno runs rm tag:variant=wrong",
        "dbdyno runs rm --older 90d",
    )
)
def rm(*runs: RunName, older: Age = None) -> int:
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
    of_no_study = (_folder(run) for run in list_runs() if STUDY not in run.tags)
    chosen = [*(chain.from_iterable(find_all(runs, _meant)) if runs else of_no_study)]
    if older is not None:
        old = {run.run_id for run in list_runs() if run.age() >= older}
        chosen = [folder for folder in chosen if folder.name in old]
    for folder in dict.fromkeys(chosen):
        print_result(f"removed {remove_run(folder)}")
    if not chosen:
        print_aside("No run is that old.")
    return Exit.OK


def _meant(word: str) -> list[Path]:
    """Return the folders that one word means; exactly one for a name."""
    tags = tags_of(word)
    if tags is None:
        return [find_run(word)]
    found = [*map(_folder, filter(RunFilter(tags=[*tags.items()]).admits, list_runs()))]
    if not found:
        raise DbdynoError("no_run", f"no run has {word}", "dbdyno runs lists them with their tags.")
    return found


def _folder(run: RunSummary) -> Path:
    return runs_folder() / run.run_id


def _lines(entries: Sequence[_Entry], columns: int | None) -> Iterator[Line]:
    """Format one line per entry; on a narrow screen, tags are on indented lines below."""
    longest = max(len(entry.name) for entry in entries)
    grid = _fitting(entries, None if columns is None else columns - longest - _GAP)
    numbers = list(aligned(grid, left=1))
    widest = max(map(len, numbers))
    room = longest if columns is None else min(longest, columns - widest - _GAP)
    names = ["run", *(_cut_within(entry.name, room) for entry in entries)]
    lines = [f"{name.ljust(room)}  {line}" for name, line in zip(names, numbers, strict=True)]
    tags = ["tags", *(entry.cell("tags") for entry in entries)]
    beside = [
        f"{line.ljust(room + _GAP + widest)}  {own}".rstrip()
        for line, own in zip(lines, tags, strict=True)
    ]
    if columns is None or max(map(len, beside)) <= columns:
        yield from beside if any(tags[1:]) else lines
        return
    yield lines[0]
    for line, own in zip(lines[1:], tags[1:], strict=True):
        yield line
        yield from [Paragraph(f"  {own}", "    ")] if own else []


def _fitting(entries: Sequence[_Entry], room: int | None) -> list[tuple[str, ...]]:
    """Return headings and cells of the columns for which there is room, but for empty ones."""
    fitting: list[list[str]] = []
    width = -_GAP
    for name, (heading, cell) in _COLUMNS.items():
        # Of a group, the entry knows the text. There may be thousands of runs: no text is made
        # that has no room.
        cells = [cell(one.run) if one.number == 1 else one.cell(name) for one in entries]
        if not any(cells):
            continue
        width += max(len(heading), *map(len, cells)) + _GAP
        if room is not None and width > room and len(fitting) >= _ALWAYS:
            break
        fitting.append([heading, *cells])
    return list(zip(*fitting, strict=True))


def _cut_within(name: str, room: int) -> str:
    """Shorten a run's name before its last part: its ends, time and number, tell runs apart."""
    if len(name) <= room:
        return name
    end = min(len(name) - name.rfind("-"), room - 1)
    return f"{name[: room - end - 1]}…{name[-end:]}"


def _age(age: timedelta) -> str:
    age_s = age.total_seconds()
    for unit, length_s in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if age_s >= length_s:
            return f"{age_s / length_s:.0f}{unit}"
    return f"{age_s:.0f}s"
