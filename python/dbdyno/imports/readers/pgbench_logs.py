"""pgbench's logs: a line for each transaction (``-l``), or for each interval of a thread.

They have no words: how many numbers a line has, and which of them is an instant, tells what it is.
Of a log of any size only counts are kept: by latency, with 11 bits of it, by second and by script.
"""

import re
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from typing import TypeAlias

from dbdyno.imports.imported_run import ImportedRun, ImportedScript, Part
from dbdyno.imports.text import Line

QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999, "p9999": 0.9999}
_BITS = 11
"""Of each latency: its bucket is less than a thousandth of it wide."""
_SAMPLED_MAX = 0.95
"""A log with fewer of the numbers of its transactions is a sample."""
_LAG_MIN_US = 10_000
"""No transaction is tried so often: in a seventh column this is a lag."""
_FAILED = ("failed", "serialization", "deadlock", "other")
_TRANSACTION = re.compile(
    rf"\d+ \d+ (?:\d+|skipped|{'|'.join(_FAILED)}) \d+ \d{{9,10}} \d{{1,6}}(?: \d+){{0,2}}"
)
_AGGREGATED = re.compile(r"\d{9,10}(?: \d+){5}(?:(?: \d+){4}(?: \d+)?)?|\d{9,10}(?: \d+){14,15}")


class Latencies:
    """How many latencies there were of about each length."""

    def __init__(self) -> None:
        self.count = self.total_us = self.max_us = 0
        self._buckets: Counter[tuple[int, int]] = Counter()

    def add(self, latency_us: int) -> None:
        """Count one."""
        self.count += 1
        self.total_us += latency_us
        self.max_us = max(self.max_us, latency_us)
        shift = max(latency_us.bit_length() - _BITS, 0)
        self._buckets[shift, latency_us >> shift] += 1

    def named_ms(self) -> dict[str, float]:
        """Mean, percentiles and maximum by the names of ``Latency``; nothing without any."""
        if not self.count:
            return {}
        named = {"mean": self.total_us / self.count / 1e3, "max": self.max_us / 1e3}
        wanted, seen = list(QUANTILES.items()), 0
        for (shift, top), number in sorted(self._buckets.items()):
            seen += number
            while wanted and seen >= wanted[0][1] * self.count:
                end_us = min(((top + 1) << shift) - 1, self.max_us)
                named[wanted.pop(0)[0]] = end_us / 1e3
        return named


class TransactionLog:
    """The transactions of one run, from the logs of all its threads."""

    def __init__(self) -> None:
        self.lines = 0
        self.latencies = Latencies()
        self._of_scripts: dict[int, Latencies] = {}
        self._of_seconds: Counter[int] = Counter()
        self._outcomes: Counter[str] = Counter()
        self._numbers: dict[int, tuple[int, int]] = {}
        """The first and the last number of each client's transactions."""
        self._columns: set[int] = set()
        self._seventh_max = self._retried = 0
        self._began_us, self._ended_us = 0, 0

    @staticmethod
    def is_line(text: str) -> bool:
        """Whether a line is of such a log."""
        return _TRANSACTION.fullmatch(text) is not None

    def add(self, text: str) -> None:
        """Count one line."""
        self.lines += 1
        client, number, outcome, script, second, microsecond, *more = text.split()
        self._columns.add(len(more))
        ended_us = int(second) * 1_000_000 + int(microsecond)
        first, last = self._numbers.get(int(client), (int(number), int(number)))
        self._numbers[int(client)] = min(first, int(number)), max(last, int(number))
        self._ended_us = max(self._ended_us, ended_us)
        latency_us = 0
        if outcome.isdecimal():
            latency_us = int(outcome)
            self.latencies.add(latency_us)
            self._of_scripts.setdefault(int(script), Latencies()).add(latency_us)
            self._of_seconds[int(second)] += 1
        else:
            self._outcomes[outcome] += 1
        began_us = ended_us - latency_us
        self._began_us = min(self._began_us, began_us) if self._began_us else began_us
        if len(more) == 2:
            self._retried += more[1] != "0"
        self._seventh_max = max([self._seventh_max, *map(int, more[:1])])

    def run(self) -> ImportedRun:
        """The run that they tell of."""
        skipped = self._outcomes["skipped"]
        failed = sum(self._outcomes[one] for one in _FAILED)
        run = ImportedRun(
            tool="pgbench",
            first_line=1,
            last_line=self.lines,
            is_complete=True,
            is_log=True,
            workload="pgbench",
            product="postgres",
            began_unix_s=self._began_us / 1e6,
            clients=max(self._numbers) + 1,
            duration_s=(self._ended_us - self._began_us) / 1e6,
            latencies_ms=self.latencies.named_ms(),
            retried=self._retried if self._columns == {2} else None,
            is_open_loop=self._columns == {2} or self._seventh_max >= _LAG_MIN_US,
        )
        run.doubts += self._doubts()
        if self.is_sampled:
            return run
        run.ok, run.failed, run.skipped = self.latencies.count, failed, skipped
        run.scripts = [
            ImportedScript(
                name=f"script {script}", ok=its.count, mean_ms=its.named_ms().get("mean")
            )
            for script, its in sorted(self._of_scripts.items())
        ]
        seconds = range(self._began_us // 1_000_000 + 1, self._ended_us // 1_000_000)
        run.parts = [
            Part(0, {"time_s": second + 1.0, "tps": float(self._of_seconds[second])})
            for second in seconds
        ]
        return run

    @property
    def is_sampled(self) -> bool:
        """Whether the log has only a part of the transactions (``--sampling-rate``)."""
        numbered = sum(last - first + 1 for first, last in self._numbers.values())
        return self.lines < _SAMPLED_MAX * numbered

    def _doubts(self) -> Iterable[str]:
        if self.is_sampled:
            yield (
                "sampled: the log has only a part of the transactions (--sampling-rate): their "
                "number and throughput are not known, latencies are those of the sample"
            )
        if self._columns == {1} and 0 < self._seventh_max < _LAG_MIN_US:
            yield (
                "ambiguous: the seventh number of each line is either how late a transaction "
                "started (-R) or how often it was tried again (--max-tries)"
            )


class AggregatedLog:
    """The intervals of one run, from the logs of all its threads."""

    def __init__(self) -> None:
        self.lines = 0
        self._intervals: dict[int, list[int]] = {}
        self._max_us = 0
        self._columns = 0

    @staticmethod
    def is_line(text: str) -> bool:
        """Whether a line is of such a log."""
        return _AGGREGATED.fullmatch(text) is not None

    def add(self, text: str) -> None:
        """Add one line to the interval that began at the same second in other threads."""
        self.lines += 1
        start, *numbers = map(int, text.split())
        self._columns = max(self._columns, len(numbers))
        known = self._intervals.get(start, [0] * len(numbers))
        self._intervals[start] = [one + more for one, more in zip(known, numbers, strict=False)]
        self._max_us = max(self._max_us, numbers[4])

    def run(self) -> ImportedRun:
        """The run that they tell of."""
        starts = sorted(self._intervals)
        steps = Counter(later - start for start, later in pairwise(starts))
        step_s = steps.most_common(1)[0][0] if steps else 0
        sums = [sum(column) for column in zip(*self._intervals.values(), strict=False)]
        done = sums[0]
        has_failures = self._columns >= 14
        skipped = sums[9] if len(sums) > 9 else None
        failed = sum(sums[12:]) if has_failures else 0
        run = ImportedRun(
            tool="pgbench",
            first_line=1,
            last_line=self.lines,
            is_complete=True,
            is_log=True,
            version="15 to 18" if self._columns == 14 else "",
            workload="pgbench",
            product="postgres",
            began_unix_s=float(starts[0]),
            ok=done,
            # Zeros are also printed for what was not counted.
            failed=failed or None,
            skipped=skipped or None,
            retried=(sums[10] if has_failures else 0) or None,
            is_open_loop=len(sums) > 8 and sums[8] > 0,
        )
        if done:
            run.latencies_ms = {"mean": sums[1] / done / 1e3, "max": self._max_us / 1e3}
        for start in starts[:-1]:  # the last one was cut short
            number, total_us = self._intervals[start][:2]
            printed = {"time_s": float(start + step_s), "tps": number / step_s}
            if number:
                printed["mean_ms"] = total_us / number / 1e3
            run.parts.append(Part(0, printed))
        return run


Log: TypeAlias = TransactionLog | AggregatedLog


def log_of(line: Line) -> Log | None:
    """An empty log of the kind that begins with this line; None if it begins no log."""
    if AggregatedLog.is_line(line.text):
        return AggregatedLog()
    return TransactionLog() if TransactionLog.is_line(line.text) else None
