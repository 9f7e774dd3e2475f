"""Reads a text once, from its beginning to its end: each line is of one tool, or of none."""

from collections.abc import Callable, Iterable
from itertools import chain
from typing import IO, TypeAlias

from msgspec import Struct

from dbdyno.imports.imported_run import ImportedRun
from dbdyno.imports.readers.benchbase import BenchbaseReader
from dbdyno.imports.readers.hammerdb import HammerdbReader
from dbdyno.imports.readers.pgbench import PgbenchReader
from dbdyno.imports.readers.pgbench_logs import Log, TransactionLog, log_of, parted
from dbdyno.imports.readers.reader import Reader
from dbdyno.imports.readers.sysbench import SysbenchReader
from dbdyno.imports.text import Line, lines, pieces, plain

READERS: tuple[Callable[[], Reader], ...] = (
    PgbenchReader,
    SysbenchReader,
    HammerdbReader,
    BenchbaseReader,
)
"""Of the tools whose output is known."""


REPORT_LINES = 100_000
Report: TypeAlias = Callable[[int, int], None]
"""Is told the numbers of lines and of runs so far."""


class ReadText(Struct, frozen=True):
    """The runs of a text in its order, and what was left out of it, in sentences.

    A log is one run, of which another file may have further threads.
    """

    runs: list[ImportedRun]
    notes: list[str]
    log: Log | None = None

    def all_runs(self) -> list[ImportedRun]:
        """The runs, also that of a log."""
        return [self.log.run()] if self.log else self.runs


def read_text(
    file: IO[bytes],
    report: Report = lambda _lines, _runs: None,
    of_other_threads: Log | None = None,
) -> ReadText:
    """Read the runs of a text."""
    text = pieces(file)
    head = next(text, "")
    first = next((line for line in lines([head]) if line.text.strip()), None)
    log = log_of(first) if first else None
    if log is None:
        return _read_lines(lines(chain([head], text)), report)
    if type(log) is type(of_other_threads):
        log = of_other_threads
    return _read_log(log, chain([head], text), report)


def _read_log(log: Log, text: Iterable[str], report: Report) -> ReadText:
    number = reported = others = 0
    for piece in text:
        rest = piece
        if isinstance(log, TransactionLog):
            rest, rows = parted(piece)
            if rows is not None:
                log.add_rows(rows)
                number += len(rows)
        for line in lines([rest]):
            number += 1
            if line.is_whole and log.is_line(line.text):
                log.add(line.text)
            else:
                others += bool(line.text.strip())
        if number // REPORT_LINES > reported:
            reported = number // REPORT_LINES
            report(number, 1)
    notes = [f"{others} lines are none of a log, or cut off: they are left out"] if others else []
    return ReadText([], notes, log)


def _read_lines(read: Iterable[Line], report: Report) -> ReadText:
    readers = [reader() for reader in READERS]
    for line in read:
        as_printed = line._replace(text=plain(line.text))
        # The tool that printed the last line probably printed this one, too.
        for reader in readers:
            if reader.take(as_printed):
                break
        if line.number % REPORT_LINES == 0:
            report(line.number, sum(len(reader.runs) for reader in readers))
    for reader in readers:
        reader.finish()
    runs = sorted((run for one in readers for run in one.runs), key=lambda run: run.first_line)
    return ReadText(runs, [note for one in readers for note in one.notes])
