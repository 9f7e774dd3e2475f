"""Reads a text once, from its beginning to its end: each line is of one tool, or of none."""

from collections.abc import Callable
from typing import IO

from msgspec import Struct

from dbdyno.imports.imported_run import ImportedRun
from dbdyno.imports.readers.pgbench import PgbenchReader
from dbdyno.imports.readers.reader import Reader
from dbdyno.imports.readers.sysbench import SysbenchReader
from dbdyno.imports.text import lines, plain

READERS: tuple[Callable[[], Reader], ...] = (PgbenchReader, SysbenchReader)
"""Of the tools whose output is known."""


class ReadText(Struct, frozen=True):
    """The runs of a text in its order, and what was left out of it, in sentences."""

    runs: list[ImportedRun]
    notes: list[str]


def read_text(
    file: IO[bytes], report: Callable[[int, int], None] = lambda _lines, _runs: None
) -> ReadText:
    """Read the runs of a text; ``report`` is told the numbers of lines and of runs so far."""
    readers = [reader() for reader in READERS]
    for line in lines(file):
        as_printed = line._replace(text=plain(line.text))
        # The tool that printed the last line probably printed this one, too.
        for reader in readers:
            if reader.take(as_printed):
                break
        if line.number % _REPORT_LINES == 0:
            report(line.number, sum(len(reader.runs) for reader in readers))
    for reader in readers:
        reader.finish()
    runs = sorted((run for one in readers for run in one.runs), key=lambda run: run.first_line)
    return ReadText(runs, [note for one in readers for note in one.notes])


_REPORT_LINES = 100_000
