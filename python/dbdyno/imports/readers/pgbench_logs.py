"""pgbench's logs: a line for each transaction (``-l``), or for each interval of a thread.

They have no words: how many numbers a line has, and which of them is an instant, tells what it is.
Of a log of any size only counts are kept: by latency, with 11 bits of it, by second and by script.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dbdyno.imports.imported_run import ImportedRun, ImportedScript, Part
from dbdyno.imports.text import Line

QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999, "p9999": 0.9999}
_BITS = 11
"""Of each latency: its bucket is less than a thousandth of it wide."""
_SAMPLED_MAX = 0.95
"""A log with fewer of the numbers of its transactions is a sample."""
_LAG_MIN_US = 10_000
"""No transaction is tried so often: in a seventh column this is a lag."""
_COLUMNS = 6
"""Of each line of a transaction; up to two more follow."""
_DIGITS_MAX = 15
"""Of a number that is certainly read without a loss."""
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

    def add_all(self, latencies_us: NDArray[np.int64]) -> None:
        """Count many."""
        if not len(latencies_us):
            return
        self.count += len(latencies_us)
        self.total_us += int(latencies_us.sum())
        self.max_us = max(self.max_us, int(latencies_us.max()))
        _, lengths = np.frexp(latencies_us.astype(float))
        shifts = np.maximum(lengths - _BITS, 0)
        places, numbers = np.unique(shifts << _BITS | latencies_us >> shifts, return_counts=True)
        for place, number in zip(places.tolist(), numbers.tolist(), strict=True):
            self._buckets[place >> _BITS, place & ((1 << _BITS) - 1)] += number

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

    def add_rows(self, rows: NDArray[np.int64]) -> None:
        """Count many lines of transactions that all succeeded."""
        client, number, latency_us, script, second, microsecond = rows.T[:_COLUMNS]
        ended_us = second * 1_000_000 + microsecond
        self.lines += len(rows)
        self._columns.add(rows.shape[1] - _COLUMNS)
        for one in np.unique(client).tolist():
            numbers = number[client == one]
            first, last = int(numbers.min()), int(numbers.max())
            known = self._numbers.get(one, (first, last))
            self._numbers[one] = min(first, known[0]), max(last, known[1])
        self.latencies.add_all(latency_us)
        for one in np.unique(script).tolist():
            self._of_scripts.setdefault(one, Latencies()).add_all(latency_us[script == one])
        seconds, counts = np.unique(second, return_counts=True)
        self._of_seconds.update(dict(zip(seconds.tolist(), counts.tolist(), strict=True)))
        began_us = int((ended_us - latency_us).min())
        self._began_us = min(self._began_us, began_us) if self._began_us else began_us
        self._ended_us = max(self._ended_us, int(ended_us.max()))
        if rows.shape[1] > _COLUMNS:
            self._seventh_max = max(self._seventh_max, int(rows[:, _COLUMNS].max()))
        if rows.shape[1] == _COLUMNS + 2:
            self._retried += int(np.count_nonzero(rows[:, _COLUMNS + 1]))

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

    def _done(self, numbers: Sequence[int]) -> int:
        """Return how many transactions were done: before version 15, skipped ones were counted."""
        return numbers[0] - numbers[9] if self._columns == 10 else numbers[0]

    def run(self) -> ImportedRun:
        """The run that they tell of."""
        starts = sorted(self._intervals)
        steps = Counter(later - start for start, later in pairwise(starts))
        step_s = steps.most_common(1)[0][0] if steps else 0
        sums = [sum(column) for column in zip(*self._intervals.values(), strict=False)]
        has_failures = self._columns >= 14
        skipped = sums[9] if len(sums) > 9 else None
        done = self._done(sums)
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
            number, total_us = self._done(self._intervals[start]), self._intervals[start][1]
            printed = {"time_s": float(start + step_s), "tps": number / step_s}
            if number:
                printed["mean_ms"] = total_us / number / 1e3
            run.parts.append(Part(0, printed))
        return run


_OF_NUMBERS = np.isin(np.arange(256), [*b"0123456789 \n"])


def parted(piece: str) -> tuple[str, NDArray[np.int64] | None]:
    """Part a piece of a log of transactions: what must be read line by line, and the other rows.

    Most lines have nothing but numbers, which are read at once in a tenth of the time. There are no
    rows if those lines are not all of the same shape.
    """
    codes = np.frombuffer(piece.encode(), np.uint8)
    ends = np.flatnonzero(codes == ord("\n"))
    if not len(ends) or codes[-1] != ord("\n"):
        return piece, None
    with_words = np.unique(np.searchsorted(ends, np.flatnonzero(~_OF_NUMBERS[codes])))
    begins = np.concatenate([[0], ends[:-1] + 1])
    is_of_words = np.zeros(len(codes) + 1, np.int8)
    is_of_words[begins[with_words]] += 1
    is_of_words[ends[with_words] + 1] -= 1
    words = np.cumsum(is_of_words[:-1], dtype=np.int8).astype(bool)
    rows = _rows_of(codes[~words])
    return (piece, None) if rows is None else (codes[words].tobytes().decode(), rows)


def _rows_of(codes: NDArray[np.uint8]) -> NDArray[np.int64] | None:
    """Return the numbers of lines of numbers; None if one of them is none of a log."""
    gaps = np.flatnonzero(codes < ord("0"))
    lengths = np.diff(gaps, prepend=-1) - 1
    if not len(gaps) or lengths.min() < 1 or lengths.max() > _DIGITS_MAX:
        return None
    ends = np.flatnonzero(codes[gaps] == ord("\n"))
    columns = int(ends[0]) + 1
    if not _COLUMNS <= columns <= _COLUMNS + 2 or (np.diff(ends, prepend=-1) != columns).any():
        return None
    second_digits, microsecond_digits = lengths.reshape(-1, columns).T[4:6]
    if second_digits.min() < 9 or second_digits.max() > 10 or microsecond_digits.max() > 6:
        return None
    return np.fromstring(codes.tobytes(), dtype=np.int64, sep=" ").reshape(-1, columns)


Log: TypeAlias = TransactionLog | AggregatedLog


def log_of(line: Line) -> Log | None:
    """An empty log of the kind that begins with this line; None if it begins no log."""
    if AggregatedLog.is_line(line.text):
        return AggregatedLog()
    return TransactionLog() if TransactionLog.is_line(line.text) else None
