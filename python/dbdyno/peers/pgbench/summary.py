"""The summary of a benchmark, line by line as pgbench 18 prints it, from the record of a run."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dbdyno.model.frame import FailureCount
from dbdyno.model.record import ScriptRecord
from dbdyno.model.run import Run
from dbdyno.peers.pgbench.builtin_scripts import find_builtin
from dbdyno.peers.pgbench.command import TRANSACTIONS_DEFAULT, Command
from dbdyno.peers.pgbench.database import Tables
from dbdyno.peers.pgbench.options import ChosenScript

_DETAILS = {
    "serialization": "serialization failures",
    "deadlock": "deadlock failures",
    "other": "other failures",
}


@dataclass(frozen=True)
class ShownScript:
    """A script as the summary names it, its weight, and its number in the run.

    ``text`` is that of a builtin, which is not spelt in the run as it is shown.
    """

    description: str
    weight: int
    number: int
    text: str

    @classmethod
    def of(cls, chosen: ChosenScript, number: int) -> "ShownScript":
        """Return how a script of the command line is shown."""
        if not chosen.is_builtin:
            return cls(chosen.name, chosen.weight, number, "")
        builtin = find_builtin(chosen.name)
        return cls(builtin.description, chosen.weight, number, builtin.text)


@dataclass(frozen=True)
class Totals:
    """How many transactions of a run, or of one script, ended in which way."""

    ok: int
    skipped: int
    failed: dict[str, int]
    """By kind of failure."""
    retried: int
    retries: int

    @property
    def all(self) -> int:
        """All of them."""
        return self.ok + self.skipped + sum(self.failed.values())

    def share(self, count: int) -> str:
        """Return a number of them with its share, which is NaN of nothing."""
        percent = 100 * count / self.all if self.all else math.nan
        return f"{count} ({'NaN' if math.isnan(percent) else f'{percent:.3f}'}%)"


@dataclass(frozen=True)
class Summary:
    """A benchmark that has ended."""

    command: Command
    run: Run
    tables: Tables
    scripts: Sequence[ShownScript]
    retried: Mapping[int, int]
    """By the script's number in the run."""

    def lines(self) -> Iterator[str]:
        """Yield the lines of the whole summary."""
        command, totals = self.command, self._totals
        yield from self._request()
        processed = f"number of transactions actually processed: {totals.ok}"
        if command.duration_s:
            yield f"duration: {command.duration_s} s"
            yield processed
        else:
            each = command.transactions or TRANSACTIONS_DEFAULT
            yield f"number of transactions per client: {each}"
            yield f"{processed}/{each * command.clients}"
        if not totals.all:
            return
        yield from self._outcomes(totals)
        if command.limit_ms:
            late = self.run.engine.done.counters.late if self.run.engine.done else 0
            percent = f"{100 * late / totals.ok:.3f}" if totals.ok else "NaN"
            yield (
                f"number of transactions above the {command.limit_ms:.1f} ms latency limit: "
                f"{late}/{totals.ok} ({percent}%)"
            )
        yield from self._times(totals)
        if len(self.scripts) > 1 or command.per_command:
            for place, script in enumerate(self.scripts, 1):
                yield from self._of_script(place, script)

    def _request(self) -> Iterator[str]:
        command, tables = self.command, self.tables
        several = len(self.scripts) > 1
        yield f"transaction type: {'multiple scripts' if several else self.scripts[0].description}"
        yield f"scaling factor: {tables.scale}"
        if tables.partitions:
            yield f"partition method: {tables.partition_method}"
            yield f"partitions: {tables.partitions}"
        yield f"query mode: {command.query_mode}"
        yield f"number of clients: {command.clients}"
        yield f"number of threads: {min(command.threads, command.clients)}"
        if command.tries_max:
            yield f"maximum number of tries: {command.tries_max}"

    @property
    def _totals(self) -> Totals:
        done = self.run.engine.done
        if done is None:
            return Totals(0, 0, {}, 0, 0)
        counters = done.counters
        return Totals(
            counters.ok,
            counters.skipped,
            self._by_kind(done.failures),
            counters.retried,
            counters.retries,
        )

    def _by_kind(
        self, failures: Sequence[FailureCount], script: int | None = None
    ) -> dict[str, int]:
        """The failures by their kind: others count only if clients go on after them."""
        found: Counter[str] = Counter()
        for failure in failures:
            kind = failure.failure_class if failure.failure_class in _DETAILS else "other"
            if kind == "other" and not self.command.continues:
                continue
            if script is None:
                found[kind] += failure.count
            elif len(failure.scripts) > script:
                found[kind] += failure.scripts[script]
        return dict(found)

    def _of(self, script: ScriptRecord, number: int) -> Totals:
        done = self.run.engine.done
        failures = done.failures if done else []
        again = done.tried_again if done else []
        return Totals(
            script.ok,
            script.skipped or 0,
            self._by_kind(failures, number),
            self.retried.get(number, 0),
            sum(failure.scripts[number] for failure in again if len(failure.scripts) > number),
        )

    def _outcomes(self, totals: Totals, indent: str = "") -> Iterator[str]:
        command = self.command
        failed = sum(totals.failed.values())
        yield f"{indent}number of failed transactions: {totals.share(failed)}"
        if command.details_failures:
            for kind, title in _DETAILS.items():
                if kind != "other" or command.continues:
                    yield f"{indent}number of {title}: {totals.share(totals.failed.get(kind, 0))}"
        if command.tries_max != 1:
            yield f"{indent}number of transactions retried: {totals.share(totals.retried)}"
            yield f"{indent}total number of retries: {totals.retries}"
        if command.rate and command.limit_ms:
            yield f"{indent}number of transactions skipped: {totals.share(totals.skipped)}"

    def _times(self, totals: Totals) -> Iterator[str]:
        command, run = self.command, self.run
        seconds = run.record.duration_s or 0.0
        if command.times_transactions:
            yield from self._measured("response", 0, "")
        else:
            mean_ms = 1000 * seconds * command.clients / totals.all
            failed = " (including failures)" if sum(totals.failed.values()) else ""
            yield f"latency average = {mean_ms:.3f} ms{failed}"
        if command.rate:
            yield self._lag()
        tps = totals.ok / seconds if seconds else 0.0
        if command.reconnects:
            yield f"average connection time = {self._connect_ms():.3f} ms"
            yield f"tps = {tps:.6f} (including reconnection times)"
        else:
            connected = run.as_recorded.engine.get("connected") or {}
            slowest_ms = (connected.get("connect") or {}).get("max_ms") or 0.0
            yield f"initial connection time = {slowest_ms:.3f} ms"
            yield f"tps = {tps:.6f} (without initial connection time)"

    def _measured(self, kind: str, number: int, indent: str) -> Iterator[str]:
        mean_ms, deviation_ms = self._moments(kind, number)
        yield f"{indent}latency average = {mean_ms:.3f} ms"
        yield f"{indent}latency stddev = {deviation_ms:.3f} ms"

    def _moments(self, kind: str, number: int) -> tuple[float, float]:
        """The mean and the standard deviation of a histogram of the whole run, in ms."""
        totals = self.run.totals
        found = totals.histogram[(totals.kind == kind) & (totals.number == number)]
        if not len(found):
            return 0.0, 0.0
        low, high, count = self.run.histograms.bar_columns(found[0])
        if not count.sum():
            return 0.0, 0.0
        middle_ms = (low.astype(float) + high) / 2e6
        mean_ms = float(np.average(middle_ms, weights=count))
        return mean_ms, math.sqrt(np.average((middle_ms - mean_ms) ** 2, weights=count))

    def _lag(self) -> str:
        mean_ms = max(self._moments("response", 0)[0] - self._moments("service", 0)[0], 0.0)
        slowest = self.run.slowest
        most_ms = float(np.max(slowest.response_ms - slowest.service_ms, initial=mean_ms))
        return f"rate limit schedule lag: avg {mean_ms:.3f} (max {most_ms:.3f}) ms"

    def _connect_ms(self) -> float:
        connects = self.run.connects
        count = int(connects.count.sum())
        known = connects.count > 0
        total_ms = (connects.count[known] * connects.mean_ms[known].astype(float)).sum()
        return float(total_ms) / count if count else 0.0

    def _of_script(self, place: int, script: ShownScript) -> Iterator[str]:
        command = self.command
        several = len(self.scripts) > 1
        record = self.run.record.scripts[script.number]
        if several:
            totals, all_of = self._of(record, script.number), self._totals
            weights = sum(each.weight for each in self.scripts)
            seconds = self.run.record.duration_s or 0.0
            tps = totals.ok / seconds if seconds else 0.0
            yield f"SQL script {place}: {script.description}"
            yield (
                f" - weight: {script.weight} (targets {100 * script.weight / weights:.1f}% of "
                "total)"
            )
            yield f" - {totals.all} transactions ({100 * totals.all / all_of.all:.1f}% of total)"
            if totals.all:
                yield (
                    f" - number of transactions actually processed: {totals.ok} (tps = {tps:.6f})"
                )
                yield from self._outcomes(totals, " - ")
                yield from self._measured("script_response", script.number, " - ")
        if command.per_command:
            yield from self._commands(script, " - " if several else "")

    def _commands(self, script: ShownScript, indent: str) -> Iterator[str]:
        tries = self.command.tries_max != 1
        what = "failures and retries" if tries else "failures"
        comma = "," if tries else " and"
        yield f"{indent}statement latencies in milliseconds{comma} {what}:"
        done = self.run.engine.done
        failures = _by_statement(done.failures if done else [])
        retries = _by_statement(done.tried_again if done else [])
        for statement, text in self._rows(script):
            mean_ms = 0.0 if statement is None else self._statement_ms(statement)
            counts = f"{failures[statement]:10d} "
            if tries:
                counts += f"{retries[statement]:10d} "
            yield f"   {mean_ms:11.3f}  {counts}{text}"

    def _statement_ms(self, statement: int) -> float:
        found = self.run.statements.where(self.run.statements.statement == statement)
        known = found.count > 0
        count = found.count[known].sum()
        if not count:
            return 0.0
        return float((found.count[known] * found.mean_ms[known].astype(float)).sum() / count)

    def _rows(self, script: ShownScript) -> Iterator[tuple[int | None, str]]:
        """Yield the commands of a script, with the number of those that are statements."""
        texts = self.run.statement_texts
        own = texts.where(texts.script == script.number)
        by_line: dict[int, list[tuple[int, str]]] = {}
        numbers = own.statement.tolist()
        for number, line, sql in zip(numbers, own.line.tolist(), own.sql.tolist(), strict=True):
            by_line.setdefault(line, []).append((number, sql))
        lines = self.run.plan.scripts[script.number].text.splitlines()
        if script.text:
            yield from self._rows_of_builtin(script.text, numbers)
            return
        for line, text in enumerate(lines, 1):
            found = by_line.get(line, [])
            word = text.strip().partition(" ")[0]
            if word.startswith("\\") and word not in ("\\gset", "\\aset"):
                # What sends to the server, such as \endpipeline, is a statement, too.
                yield (found[0][0] if found else None), text.strip()
                continue
            for number, sql in found:
                yield number, _first_line(sql, "\n".join(lines[line - 1 :]))

    def _rows_of_builtin(
        self, text: str, numbers: Sequence[int]
    ) -> Iterator[tuple[int | None, str]]:
        rest = iter(numbers)
        for line in text.splitlines():
            yield (None if line.startswith("\\") else next(rest)), line


def _first_line(sql: str, source: str) -> str:
    r"""The first line of a statement, up to what ends it in the script: ``;`` or ``\gset``."""
    first = sql.partition("\n")[0].rstrip()
    shown = first.replace("\\;", ";")
    if gset := re.match(r"([ \t]*)\s*\\[ag]set\b", source.partition(first)[2]):
        return f"{shown}{gset[1]}"
    return shown if "\n" in sql or shown.endswith(";") else f"{shown};"


def _by_statement(failures: Sequence[FailureCount]) -> Counter[int | None]:
    found: Counter[int | None] = Counter()
    for failure in failures:
        found.update(dict(failure.statements))
    return found
