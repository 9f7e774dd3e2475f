"""``dbdyno import``: runs that other tools measured, from the text that they printed."""  # noqa: N999

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Annotated

from cyclopts import Parameter
from msgspec.structs import replace

from dbdyno.cli.app import Json, command
from dbdyno.cli.output import Exit, print_aside, print_json, print_result, print_table
from dbdyno.cli.progress import StatusLine
from dbdyno.errors import DbdynoError, why_unreadable
from dbdyno.formatting import counted, milliseconds, significant, tps
from dbdyno.imports.reading import ReadText, read_text
from dbdyno.imports.recording import keep, run_of
from dbdyno.imports.several_runs import together
from dbdyno.model.record import RunRecord
from dbdyno.run.options.parameters import OUTPUT, pairs
from dbdyno.run.tools import engine_tools

_STDIN = "-"
_OF_THREAD = re.compile(r"(?P<run>.+\.\d+)\.\d+")

app = command(
    "import",
    "dbdyno import results.txt       every run in the text becomes a run folder",
    "pgbench -c 8 -T 60 -P 1 bench 2>&1 | dbdyno import -",
    "dbdyno import before.txt --tag build=old",
    "sysbench oltp_read_write … --report-interval=1 run | dbdyno import -",
    "dbdyno import pgbench_log.*     the logs of all threads are one run",
    "dbdyno import page.txt --json | jq '.runs[].throughput_tps.value'",
)


@app.default
def import_runs(
    file: Annotated[str, Parameter(allow_leading_hyphen=True)],
    /,
    *files: Annotated[str, Parameter(allow_leading_hyphen=True)],
    tags: Annotated[tuple[tuple[str, str], ...], pairs("--tag", group=OUTPUT)] = (),
    json: Json = False,
) -> int:
    """Import runs that other tools measured, from the text that they printed.

    Reads what pgbench and sysbench of any version, HammerDB and BenchBase have printed, from files,
    standard input or a copy of a web page, with any other text around it. Each run in it becomes a
    run folder, which dbdyno runs, report, compare, history and sql take like any other; what the
    text does not say is not known there. Passwords in command lines are masked.

    Parameters
    ----------
    file
        A file, or - for standard input.
    files
        Further files.
    tags
        Tag the runs; may be repeated.
    """
    names = [file, *files]
    read = _read_all(names)
    if not any(one.all_runs() for _, one in read):
        raise _no_run(read)
    histograms = engine_tools().histograms
    runs = [run_of(run, name, histograms) for name, one in read for run in one.all_runs()]
    records = [keep(run, dict(tags), number).record for number, run in enumerate(runs, 1)]
    notes = [f"{name}: {note}" for name, one in read for note in one.notes]
    said = [found.sentence for _, one in read for found in together(one.runs)]
    if json:
        print_json({"runs": records, "left_out": notes, "together": said})
        return Exit.OK
    _print_runs(records)
    for sentence in said:
        print_result(sentence)
    for note in notes:
        print_aside(note)
    return Exit.OK


def _read_all(names: list[str]) -> list[tuple[str, ReadText]]:
    """Read the files; the logs of a run's threads (``log.PID`` and ``log.PID.K``) are one."""
    read: dict[str, tuple[str, ReadText]] = {}
    for number, name in enumerate(names):
        thread = _OF_THREAD.fullmatch(name)
        run = thread["run"] if thread else name
        before = read[run][1].log if run in read else None
        with _opened(name) as file, _progress(name) as report:
            found = read_text(file, report, before)
        is_same = before is not None and found.log is before
        notes = [*(read[run][1].notes if is_same else ()), *found.notes]
        place = run if found.log and (is_same or run not in read) else f"{number}: {name}"
        read[place] = (read[run][0] if is_same else name, replace(found, notes=notes))
    return list(read.values())


@contextmanager
def _opened(name: str) -> Iterator[IO[bytes]]:
    if name == _STDIN:
        yield sys.stdin.buffer
        return
    try:
        with Path(name).open("rb") as file:
            yield file
    except OSError as error:
        raise DbdynoError(
            "file", f"cannot read {name}: {why_unreadable(error)}", "Name a text file, or -."
        ) from error


@contextmanager
def _progress(name: str) -> Iterator[Callable[[int, int], None]]:
    """Show in a terminal how far a large text has been read."""
    line = StatusLine()

    def report(lines: int, runs: int) -> None:
        if line.is_in_terminal:
            line.renew(f"{name}: {counted(lines, 'line')} read, {counted(runs, 'run')} so far")

    try:
        yield report
    finally:
        line.take_back()


def _no_run(read: list[tuple[str, ReadText]]) -> DbdynoError:
    names = ", ".join(name if name != _STDIN else "standard input" for name, _ in read)
    notes = "; ".join(note for _, one in read for note in one.notes)
    return DbdynoError(
        "no_run_in_text",
        f"{names}: there is no run of a tool that dbdyno knows{f' ({notes})' if notes else ''}",
        "Save the tool's whole output, with its last lines: pgbench … > results.txt 2>&1",
    )


def _print_runs(records: list[RunRecord]) -> None:
    rows = []
    has_nopm = any(record.nopm for record in records)
    for record in records:
        told, rate, response = record.imported, record.throughput_tps, record.response_ms
        assert told is not None
        rows.append(
            (
                record.run_id,
                f"{told.tool} {told.version}".strip(),
                "" if told.clients is None else str(told.clients),
                tps(rate.value) if rate else "",
                *([significant(record.nopm.value) if record.nopm else ""] if has_nopm else []),
                milliseconds(response.mean) if response else "",
                f"{told.first_line}-{told.last_line}",
            )
        )
    nopm = ["NOPM"] if has_nopm else []
    print_table(["run", "measured by", "clients", "TPS", *nopm, "mean", "lines"], rows, 2)
