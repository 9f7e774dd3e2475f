"""What sysbench prints of a run while it lasts and at its end, in the format of 1.0."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dbdyno.model.frame import Counters, Interval, Started, Transactions
from dbdyno.model.plan import Plan
from dbdyno.peers.reported_rows import OK, rows_of
from dbdyno.peers.sysbench.command import Command
from dbdyno.run.observer import Observer

BUCKETS = 1024
LEAST_MS, MOST_MS = 0.001, 100_000.0
STEP = math.log(MOST_MS / LEAST_MS) / (BUCKETS - 1)
BAR = 40
READS, WRITES, OTHERS, ERRORS, RECONNECTS = range(5)


@dataclass
class Period:
    """What happened since some instant, with latencies in the buckets that sysbench has."""

    clients: int
    counted_before: NDArray[np.int64]
    counted: NDArray[np.int64] = field(default_factory=lambda: np.zeros(5, np.int64))
    begin_ns: int = 0
    end_ns: int = 0
    sum_ms: float = 0.0
    least_ms: float = math.inf
    most_ms: float = 0.0

    def __post_init__(self) -> None:
        """Begin with nothing."""
        self.counted = self.counted_before
        self.buckets = np.zeros(BUCKETS, np.int64)
        self.events_by_client = np.zeros(self.clients, np.int64)
        self.busy_s_by_client = np.zeros(self.clients)

    def add(self, rows: NDArray[Any], counted: NDArray[np.int64]) -> None:
        """Add transactions that have ended, and what was counted by now."""
        self.counted = counted
        ended = rows[rows["fate"] == OK]
        if not len(ended):
            return
        took_ms = (ended["done"] - ended["due"]) / 1e6
        self.sum_ms += float(took_ms.sum())
        self.least_ms = min(self.least_ms, float(took_ms.min()))
        self.most_ms = max(self.most_ms, float(took_ms.max()))
        places = np.log(np.clip(took_ms, LEAST_MS, MOST_MS) / LEAST_MS) / STEP
        self.buckets += np.bincount((places + 0.5).astype(int), minlength=BUCKETS)
        clients = ended["client"]
        self.events_by_client += np.bincount(clients, minlength=self.clients)
        self.busy_s_by_client += np.bincount(clients, took_ms / 1e3, minlength=self.clients)

    @property
    def events(self) -> int:
        """Transactions that succeeded."""
        return int(self.buckets.sum())

    @property
    def seconds(self) -> float:
        """How long it is."""
        return (self.end_ns - self.begin_ns) / 1e9

    def rate(self, count: float) -> float:
        """Return a number per second."""
        return count / self.seconds if self.seconds else 0.0

    def counts(self) -> list[int]:
        """Return what was counted since its beginning."""
        return [int(count) for count in self.counted - self.counted_before]

    def percentile_ms(self, percentile: int) -> float:
        """Return the value of the bucket with this percentile."""
        wanted = math.floor(self.events * percentile / 100 + 0.5)
        if not percentile or not self.events:
            return 0.0
        place = int(np.searchsorted(np.cumsum(self.buckets), wanted))
        return value_ms(min(place, BUCKETS - 1))


def value_ms(place: int) -> float:
    """Return the value of a bucket."""
    return LEAST_MS * math.exp(place * STEP)


class Reports(Observer):
    """An observer that writes the reports that a command asks for."""

    def __init__(self, command: Command, write: Callable[[str], None]) -> None:
        self._command = command
        self._write = write
        self._checkpoints = list(command.options.get("report_checkpoints", ()))
        self._begin_ns = 0
        self._whole = self._period()
        self._last = self._period()

    def _period(self, counted: NDArray[np.int64] | None = None) -> Period:
        before = np.zeros(5, np.int64) if counted is None else counted
        return Period(self._command.threads, before)

    def started(self, _plan: Plan, started: Started) -> None:
        """Say so."""
        self._write("Threads started!\n\n")
        self._begin_ns = started.measure_begin_ns
        self._whole.begin_ns = self._last.begin_ns = self._begin_ns

    def transactions(self, transactions: Transactions) -> None:
        """Add them to the whole and to the part since the last line."""
        rows = rows_of(transactions)
        counted = np.array(transactions.counted, np.int64)
        for period in (self._whole, self._last):
            period.add(rows, counted)

    def interval(self, interval: Interval) -> None:
        """Report what is due."""
        if interval.phase == "warmup":
            self._whole, self._last = (self._period(self._whole.counted) for _ in range(2))
            self._whole.begin_ns = self._last.begin_ns = interval.end_ns
            return
        self._whole.end_ns = self._last.end_ns = interval.end_ns
        if interval.phase == "drain":
            return
        elapsed_s = (interval.end_ns - self._begin_ns) / 1e9
        every_s = self._command.options.get("report_interval", 0)
        if every_s and self._last.seconds > every_s * 0.99:
            self._write(self._interim(elapsed_s, interval.counters))
            self._last = self._next(self._last)
        if self._checkpoints and elapsed_s > self._checkpoints[0] - 0.01:
            self._checkpoints.pop(0)
            self._write(f"[ {elapsed_s:.0f}s ] Checkpoint report:\n")
            self._write_all(self._lines())
            self._whole = self._next(self._whole)

    def _next(self, period: Period) -> Period:
        following = self._period(period.counted)
        following.begin_ns = following.end_ns = period.end_ns
        return following

    def _interim(self, elapsed_s: float, counters: Counters) -> str:
        last, percentile = self._last, self._command.percentile
        reads, writes, others, errors, reconnects = map(last.rate, last.counts())
        lines = (
            f"[ {elapsed_s:.0f}s ] thds: {self._command.threads} "
            f"tps: {last.rate(last.events):4.2f} qps: {reads + writes + others:4.2f} "
            f"(r/w/o: {reads:4.2f}/{writes:4.2f}/{others:4.2f}) "
            f"lat (ms,{percentile}%): {last.percentile_ms(percentile):4.2f} "
            f"err/s: {errors:4.2f} reconn/s: {reconnects:4.2f}\n"
        )
        if self._command.options.get("rate"):
            lines += (
                f"[ {elapsed_s:.0f}s ] queue length: {counters.waiting}, "
                f"concurrency: {counters.in_flight}\n"
            )
        return lines

    def finish(self) -> None:
        """Write the report of everything since the beginning, or the last checkpoint."""
        if self._command.options.get("histogram"):
            self._write_all(self._histogram())
        self._write_all(self._lines())

    def _write_all(self, lines: Iterator[str]) -> None:
        self._write("".join(f"{line}\n" for line in lines))

    def _lines(self) -> Iterator[str]:
        whole = self._whole
        reads, writes, others, errors, reconnects = whole.counts()
        queries = reads + writes + others
        yield "SQL statistics:"
        yield "    queries performed:"
        for name, count in {"read": reads, "write": writes, "other": others}.items():
            yield f"        {f'{name}:':33}{count}"
        yield f"        {'total:':33}{queries}"
        counts = {
            "transactions": whole.events,
            "queries": queries,
            "ignored errors": errors,
            "reconnects": reconnects,
        }
        for name, count in counts.items():
            yield f"    {f'{name}:':37}{count:<6} ({whole.rate(count):.2f} per sec.)"
        yield ""
        yield "General statistics:"
        yield f"    {'total time:':37}{(whole.end_ns - self._begin_ns) / 1e9:.4f}s"
        yield f"    {'total number of events:':37}{whole.events}"
        yield ""
        yield from self._latency()
        yield ""
        yield "Threads fairness:"
        fairness = {"events": whole.events_by_client, "execution time": whole.busy_s_by_client}
        for name, values in fairness.items():
            yield f"    {f'{name} (avg/stddev):':31}{values.mean():.4f}/{values.std():3.2f}"
        yield ""

    def _latency(self) -> Iterator[str]:
        whole, percentile = self._whole, self._command.percentile
        mean_ms = whole.sum_ms / whole.events if whole.events else 0.0
        yield "Latency (ms):"
        yield f"         min: {whole.least_ms if whole.events else 0.0:39.2f}"
        yield f"         avg: {mean_ms:39.2f}"
        yield f"         max: {whole.most_ms:39.2f}"
        if percentile:
            yield f"        {percentile:3}th percentile: {whole.percentile_ms(percentile):27.2f}"
        else:
            yield "         percentile stats:               disabled"
        yield f"         sum: {whole.sum_ms:39.2f}"

    def _histogram(self) -> Iterator[str]:
        yield "Latency histogram (values are in milliseconds)"
        yield "       value  ------------- distribution ------------- count"
        most = self._whole.buckets.max()
        for place, count in enumerate(self._whole.buckets.tolist()):
            if count:
                stars = "*" * math.floor(count * BAR / most + 0.5)
                yield f"{value_ms(place):12.3f} |{stars:{BAR}} {count}"
        yield " "
