"""Reads pgbench: which lines are of one run, and which run they are of.

A label that comes a second time begins the next run, and so does a command. Two runs that wrote
into one file at the same time give labels in an order that pgbench never prints: what cannot be
told apart is left out.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from dbdyno.imports.imported_run import ImportedRun, ImportedScript, ImportedStatement, Part
from dbdyno.imports.readers import pgbench_lines as lines
from dbdyno.imports.readers.pgbench_lines import Figure, Labelled
from dbdyno.imports.text import Line, Mended, masked
from dbdyno.model.record import PrintedFigure

TOGETHER_LINES = 5
"""A command is that of the run that begins at most so many lines after it."""
LIKE_TPS = 0.1
"""By how much a rate may differ from what follows from the rest of a run: connecting takes time,
and the last transactions end after the run."""
CONTRADICTS_TPS = 2.0
SHORT_S = 5
_PLACE = {label: place for place, label in enumerate(lines.LABELS)}
_HEAD = _PLACE["number of transactions per client"]
"""The order of what comes later has changed."""


class _Command(NamedTuple):
    """A command line of pgbench; without words there is none."""

    line: int = 0
    words: str = ""


class _Summary:
    """What is known of the run that is being read."""

    def __init__(self, run: ImportedRun) -> None:
        self.run = run
        self.versions = lines.VersionRange()
        self.labels: dict[str, str] = {}
        """The labels that were seen, by the names of their figures."""
        self.rates: dict[str, tuple[float, ...]] = {}
        self.script: ImportedScript | None = None
        self.counts_of_rows: int | None = None
        """How many counts a row of statement latencies has; None outside of them."""
        self.is_mixed = False
        self.mixes_parts = False
        self.aborted_clients: set[int] = set()

    def add(self, line: Line, figures: Sequence[Figure], of: str = "") -> None:
        """Keep figures of a line."""
        self.run.last_line = line.number
        self.run.figures += [
            PrintedFigure(name=name, value=value, unit=unit, of=of, line=line.number)
            for name, value, unit in figures
        ]

    def may_have(self, label: str, name: str) -> bool:
        """Whether the label can belong to this run; if not, it begins the next one."""
        if name in self.labels or (label == "transaction type" and self.labels):
            return False
        latest = max((_PLACE[one] for one in self.labels.values()), default=0)
        self.is_mixed |= _PLACE[label] < min(latest, _HEAD)
        return True

    def set(self, found: Labelled) -> None:
        """Take over what a label says."""
        run, (name, value, _) = self.run, found.figures[0]
        self.labels[name] = found.label
        self.versions.narrow(found.since, found.before)
        match found.label:
            case "tps":
                which = name.partition("(")[2].rstrip(")")
                self.rates[which] = lines.tps_readings(str(value))
                run.is_complete = True
            case "latency average":
                run.latencies_ms["mean"] = float(value)
            case "rate limit schedule lag":
                run.is_open_loop = True
        if field := lines.LABELS[found.label].field:
            setattr(run, field, value)

    @property
    def is_middle(self) -> bool:
        """Whether its summary has neither the begin nor the end."""
        has_end = bool(self.rates or self.run.latencies_ms)
        return bool(self.labels) and "transaction type" not in self.labels and not has_end

    def has_torn_summary(self, torn_until: int | None) -> bool:
        """Whether lines of its summary are of several runs.

        Without its begin, it goes on where another one broke off.
        """
        if not self.labels or "transaction type" in self.labels or torn_until is None:
            return self.is_mixed
        return self.is_mixed or torn_until >= self.run.first_line - 1

    def conclude(self) -> ImportedRun:
        """Return the run with what only its end decides."""
        run = self.run
        run.version = run.version or str(self.versions)
        if not run.scripts and run.workload and run.ok is not None:
            run.scripts.append(ImportedScript(name=lines.name_of(run.workload), ok=run.ok))
        run.workload = lines.name_of(run.workload)
        times_s = [part.printed["time_s"] for part in run.parts[:2]]
        if run.has_unix_times and len(times_s) > 1:
            run.began_unix_s = 2 * times_s[0] - times_s[1]
        readings = next((self.rates[one] for one in lines.RATES if one in self.rates), ())
        expected = expected_tps(run)
        if len(readings) > 1 and expected:
            readings = tuple(one for one in readings if abs(one / expected - 1) < LIKE_TPS)
        run.tps = readings[0] if len(readings) == 1 else None
        run.doubts += self._doubts(expected)
        return run

    def _doubts(self, expected: float | None) -> Iterator[str]:
        run = self.run
        if self.rates and run.tps is None:
            yield (
                "ambiguous: the separators of its rate can be read in two ways, and nothing else "
                "in the text tells which is meant"
            )
        is_long = run.duration_s is None or run.duration_s >= SHORT_S
        if run.tps and expected and is_long:
            ratio = run.tps / expected
            if not 1 / CONTRADICTS_TPS < ratio < CONTRADICTS_TPS:
                yield (
                    f"contradictory: {run.tps:.6g} TPS are printed, but from its other figures "
                    f"follow {expected:.6g}: the text was edited, or has lines of two runs"
                )
        if self.aborted_clients:
            yield (
                f"aborted: pgbench gave up clients ({len(self.aborted_clients)}), and the others "
                "went on without"
            )


class PgbenchReader:
    """Reads the output of pgbench."""

    def __init__(self) -> None:
        self.runs: list[ImportedRun] = []
        self.notes: list[str] = []
        self._summary: _Summary | None = None
        self._command = _Command()
        self._torn_until: int | None = None
        """The line where the last summary that broke off did so."""
        self._lines = Mended(self._takes, lines.is_broken)

    def take(self, line: Line) -> bool:
        """Return whether the line is pgbench's."""
        return self._lines.take(line)

    def _takes(self, line: Line) -> bool:
        readers = (self._row, self._progress, self._of_script, self._labelled, self._beside)
        return any(read(line) for read in readers)

    def finish(self) -> None:
        """End the run that is being read, and keep it if it has a result."""
        summary, self._summary = self._summary, None
        if summary is None:
            return
        run = summary.run
        if summary.mixes_parts:
            self._without_parts(run)
        is_torn = summary.has_torn_summary(self._torn_until)
        if run.has_result and not is_torn and not summary.is_middle:
            self.runs.append(summary.conclude())
        elif summary.labels:
            self._torn_until = run.last_line
            why = (
                "lines of several runs that wrote at the same time cannot be told apart"
                if is_torn
                else "the text has no result of this run"
            )
            self._note(run, f"left out, because {why}")

    def _without_parts(self, run: ImportedRun) -> None:
        """Drop progress lines of several runs, also those before the first that showed it."""
        run.parts.clear()
        while self.runs and self.runs[-1].last_line == run.first_line - 1:
            if self.runs[-1].figures:
                break
            run.first_line = self.runs.pop().first_line
        self._note(run, "progress lines of several runs that wrote at the same time are left out")

    def _note(self, run: ImportedRun, what: str) -> None:
        self.notes.append(f"lines {run.first_line} to {run.last_line}: {what}")

    def _current(self, line: Line) -> _Summary:
        """Return the summary that a line belongs to, which may be a new one."""
        if self._summary is None:
            is_near = line.number - self._command.line <= TOGETHER_LINES
            run = ImportedRun(
                tool="pgbench",
                first_line=line.number,
                last_line=line.number,
                command=masked(self._command.words) if is_near else "",
                product="postgres",
            )
            self._summary, self._command = _Summary(run), _Command()
        self._summary.run.last_line = line.number
        return self._summary

    def _labelled(self, line: Line) -> bool:
        found = lines.labelled(line.text, is_whole=line.is_whole)
        if found is None:
            return False
        if self._summary and not self._summary.may_have(found.label, found.figures[0].name):
            self.finish()
        summary = self._current(line)
        summary.add(line, found.figures)
        summary.set(found)
        summary.counts_of_rows = None
        return True

    def _of_script(self, line: Line) -> bool:
        """The lines about one of several scripts."""
        summary = self._summary
        if summary is None:
            return False
        if name := lines.script_of(line.text):
            summary.script, summary.counts_of_rows = ImportedScript(name=name), None
            summary.run.scripts.append(summary.script)
            summary.run.last_line = line.number
            return True
        script = summary.script
        figures = lines.of_script(line.text, is_whole=line.is_whole) if script else []
        if script is None or not figures:
            return False
        summary.add(line, figures, script.name)
        for name, value, _ in figures:
            match name, value:
                case "weight", int():
                    script.weight = value
                case (("transactions" | lines.PROCESSED), int()):
                    script.ok = value
                case "number of failed transactions", int():
                    script.failed = value
                case "number of transactions skipped", int():
                    script.skipped = value
                case "latency average", float():
                    script.mean_ms = value
        return True

    def _row(self, line: Line) -> bool:
        """A statement with its mean latency."""
        summary = self._summary
        if summary is None or summary.counts_of_rows is None:
            return False
        row = lines.row_of(line.text, summary.counts_of_rows)
        if row is None:
            return False
        summary.versions.narrow(*(("", "9.6") if row.is_long else ("9.6", "")))
        script = summary.script.name if summary.script else ""
        statements = summary.run.statements
        statement = ImportedStatement(
            script=script,
            index=sum(one.script == script for one in statements),
            sql=row.sql,
            mean_ms=row.mean_ms,
        )
        statements.append(statement)
        names = ("statement failures", "statement retries")
        counts = [Figure(*one) for one in zip(names, row.counts, strict=False)]
        summary.add(line, [Figure("statement latency", row.mean_ms, "ms"), *counts], row.sql)
        return True

    def _progress(self, line: Line) -> bool:
        """A progress line; one that the text cuts off may have been longer."""
        printed = lines.progress_of(line.text) if line.is_whole else None
        if printed is None:
            return False
        if self._summary and self._summary.labels:
            self.finish()
        parts = self._summary.run.parts if self._summary else []
        if self._summary and parts and printed["time_s"] <= parts[-1].printed["time_s"]:
            if is_first(printed["time_s"], parts):
                self.finish()
            else:
                self._summary.mixes_parts = True
        summary = self._current(line)
        summary.versions.narrow(*(("15", "") if "failed" in printed else ("9.4", "15")))
        summary.run.parts.append(Part(line.number, printed))
        return True

    def _beside(self, line: Line) -> bool:
        """What pgbench prints before a run, between its figures, and about what went wrong."""
        text = line.text
        if banner := lines.banner_of(text):
            self.finish()
            run = self._current(line).run
            run.version, run.server_version = banner
            return True
        if (counts := lines.counts_of_rows(text)) is not None:
            summary = self._current(line)
            summary.counts_of_rows = counts
            summary.versions.narrow(*(("15", "") if counts else ("9.1", "15")))
            return True
        if (command := lines.command_of(text)) is not None:
            self.finish()
            self._command = _Command(line.number, command)
            return False
        if self._summary and (client := lines.aborted_client(text)) is not None:
            self._summary.aborted_clients.add(client)
            return True
        if self._summary and lines.says_aborted(text):
            self._summary.run.failure = (
                "pgbench says that the run was aborted: its results are incomplete"
            )
            return True
        return lines.is_empty_word(text)


def is_first(time_s: float, before: Sequence[Part]) -> bool:
    """Whether a progress line is the first of another run: no later than after the usual step."""
    first_s, last_s = before[0].printed["time_s"], before[-1].printed["time_s"]
    step_s = (last_s - first_s) / (len(before) - 1) if len(before) > 1 else first_s
    return time_s <= step_s * 1.5


def expected_tps(run: ImportedRun) -> float | None:
    """The rate that follows from the other figures of a run."""
    if run.ok and run.duration_s:
        return run.ok / run.duration_s
    mean_ms = run.latencies_ms.get("mean")
    if mean_ms and run.clients and not run.is_open_loop:
        return run.clients / mean_ms * 1e3
    return None
