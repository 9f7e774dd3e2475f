"""Reads sysbench: its interim reports, checkpoints, histogram and final report.

A thread of sysbench is a client. A report of a checkpoint has its own figures, and the final report
after one counts from there.
"""

from typing import NamedTuple

from dbdyno.imports.imported_run import ImportedRun, ImportedScript, Part
from dbdyno.imports.readers import sysbench_lines as lines
from dbdyno.imports.text import Line, Mended, masked
from dbdyno.model.record import PrintedFigure

TOGETHER_LINES = 15
"""A command is that of the run that begins at most so many lines after it."""
OBJECT_LINES_MAX = 40
_QUANTILES = {50: "p50", 90: "p90", 95: "p95", 99: "p99", 99.9: "p999", 99.99: "p9999"}


class _Given(NamedTuple):
    """A command line, and where it ended."""

    line: int = 0
    command: lines.Command | None = None


class SysbenchReader:
    """Reads the output of sysbench."""

    def __init__(self) -> None:
        self.runs: list[ImportedRun] = []
        self.notes: list[str] = []
        self._run: ImportedRun | None = None
        self._given = _Given()
        self._continued = ""
        """A command line that goes on in the next line."""
        self._lines = Mended(self._takes, lines.is_broken)
        self._object: list[str] = []
        """Lines of an object of the JSON hook that has not ended."""
        self._begin()

    def _begin(self) -> None:
        self._seen: set[str] = set()
        self._done: list[int] = []
        """The transactions of each report: of the checkpoints, and of the end."""
        self._section = ""
        self._checkpoint: int | None = None
        self._has_interim_of_others = False
        self._is_in_histogram = False

    def take(self, line: Line) -> bool:
        """Return whether the line is sysbench's."""
        return not self._takes_command(line) and self._lines.take(line)

    def _takes(self, line: Line) -> bool:
        readers = (self._interim, self._hook, self._heading, self._bar, self._labelled)
        return any(read(line) for read in readers)

    def finish(self) -> None:
        """End the run that is being read, and keep it if it has a result."""
        run, self._run = self._run, None
        mixes, has_labels, done = self._has_interim_of_others, bool(self._seen), self._done
        self._begin()
        if run is None:
            return
        where = f"lines {run.first_line} to {run.last_line}"
        if mixes:
            run.parts.clear()
            self.notes.append(
                f"{where}: interim reports of several runs that wrote at the same time are left out"
            )
        if run.ok is None and not run.parts:
            if has_labels:
                self.notes.append(
                    f"{where}: left out, because it has no transactions of a database"
                )
            return
        if len(done) > 1:
            run.ok, run.tps = sum(done), None
            run.latencies_ms.clear()
            run.doubts.append(
                "checkpoints: each report counts from the one before it; transactions are those of "
                "all, throughput is of the interim reports, and response times are in the reports"
            )
        if run.ok is not None:
            run.scripts.append(ImportedScript(name=run.workload or "sysbench", ok=run.ok))
        self.runs.append(run)

    def _takes_command(self, line: Line) -> bool:
        text = f"{self._continued}{line.text.strip()}"
        self._continued = ""
        command = lines.command_of(text)
        if command is None:
            return False
        if text.endswith("\\"):
            self._continued = f"{text[:-1].rstrip()} "
        self.finish()
        self._given = _Given(line.number, command if command.runs else None)
        return True

    def _current(self, line: Line) -> ImportedRun:
        if self._run is None:
            given, self._given = self._given, _Given()
            is_near = given.command and line.number - given.line <= TOGETHER_LINES
            command = given.command if is_near else None
            self._run = ImportedRun(
                tool="sysbench",
                first_line=line.number,
                last_line=line.number,
                command=masked(command.words) if command else "",
                workload=command.test if command else "",
                product=command.product if command else "",
            )
        self._run.last_line = line.number
        return self._run

    def _heading(self, line: Line) -> bool:
        if (version := lines.version_of(line.text)) is not None:
            self.finish()
            self._current(line).version = version
            return True
        if (second := lines.checkpoint_of(line.text)) is not None:
            self._current(line)
            self._checkpoint, self._section = second, ""
            return True
        if line.text.strip().startswith("Latency histogram ("):
            self._current(line)
            self._is_in_histogram = True
            return True
        section = lines.section_of(line.text)
        if section is None:
            return False
        if section in lines.BEGINS and self._checkpoint is None and section in self._seen:
            self.finish()
        self._current(line)
        self._section = section
        self._seen.add(section)
        return True

    def _interim(self, line: Line) -> bool:
        printed = lines.interim_of(line.text) if line.is_whole else None
        return printed is not None and self._add_part(line, printed)

    def _add_part(self, line: Line, printed: dict[str, float]) -> bool:
        run = self._run
        if run and self._checkpoint is None and not {*lines.BEGINS}.isdisjoint(self._seen):
            self.finish()
            run = None
        before_s = run.parts[-1].printed["time_s"] if run and run.parts else 0.0
        if "tps" not in printed:  # the second line of one report
            if run and run.parts and before_s == printed["time_s"]:
                run.parts[-1].printed.update(printed)
            return run is not None
        if run and run.parts and printed["time_s"] <= before_s:
            if printed["time_s"] <= run.parts[0].printed["time_s"] and len(run.parts) > 1:
                self.finish()
            else:
                self._has_interim_of_others = True
        run = self._current(line)
        run.parts.append(Part(line.number, printed))
        return True

    def _hook(self, line: Line) -> bool:
        """An object of the JSON hook, over several lines."""
        text = line.text.strip()
        if not self._object and text != "{":
            return False
        self._object.append(text)
        joined = "".join(self._object)
        if joined.count("{") > joined.count("}") and len(self._object) < OBJECT_LINES_MAX:
            return False
        self._object = []
        printed = lines.from_hook(joined.rstrip(","))
        return printed is not None and self._add_part(line, printed)

    def _bar(self, line: Line) -> bool:
        bar = lines.bar_of(line.text) if self._is_in_histogram and line.is_whole else None
        if bar is None:
            return False
        ms, count = bar
        self._figure(line, lines.Figure("latency histogram", count), f"{ms} ms")
        return True

    def _labelled(self, line: Line) -> bool:
        found = lines.labelled(line.text, self._section, is_whole=line.is_whole)
        if found is None:
            return False
        label, figures = found
        if label in lines.HEADER and label in self._seen:
            self.finish()
        run = self._current(line)
        of = "" if self._checkpoint is None else f"checkpoint at {self._checkpoint} s"
        for figure in figures:
            self._figure(line, figure, of)
        self._seen.add(label)
        self._is_in_histogram = False
        if label == "transactions":
            self._done.append(int(figures[0].value))
        if not of:
            self._set(run, label, figures)
        elif label == lines.LAST:  # what follows the report of a checkpoint is the run's again
            self._checkpoint, self._section = None, ""
            self._seen.difference_update(lines.BEGINS)
        return True

    def _figure(self, line: Line, figure: lines.Figure, of: str) -> None:
        run = self._current(line)
        name, value, unit = figure
        run.figures.append(
            PrintedFigure(name=name, value=value, unit=unit, of=of, line=line.number)
        )

    def _set(self, run: ImportedRun, label: str, figures: list[lines.Figure]) -> None:
        value = figures[0].value
        match label:
            case "number of threads":
                run.threads = run.clients = int(value)
            case "target transaction rate":
                run.rate_tps, run.is_open_loop = value, value > 0
            case "transactions":
                run.ok, run.tps = int(value), figures[1].value
            case "total time" | "time elapsed":
                run.duration_s = value
            case "avg":
                run.latencies_ms["mean"] = value
            case "max":
                run.latencies_ms["max"] = value
            case lines.LAST:
                run.is_complete = True
            case _ if (percent := lines.percent_of(label)) in _QUANTILES:
                assert percent is not None
                run.latencies_ms[_QUANTILES[percent]] = value
