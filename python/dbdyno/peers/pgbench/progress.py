"""The lines of ``-P``, from the measurement intervals of a run in progress."""

import math
from collections import Counter
from collections.abc import Iterator

from dbdyno.model.frame import (
    Counters,
    FailureCount,
    Interval,
    Started,
    Transactions,
    bucket_low_ns,
)
from dbdyno.model.plan import Plan
from dbdyno.peers.pgbench.command import Command
from dbdyno.peers.pgbench.transaction_logs import TransactionLogs
from dbdyno.peers.streams import Streams
from dbdyno.run.observer import Observer

_NOTHING = Counters(
    due=0,
    started=0,
    skipped=0,
    waiting=0,
    ok=0,
    failed=0,
    in_flight=0,
    unfinished=0,
    retried=0,
    retries=0,
    late=0,
)


def aborts(command: Command, failure: FailureCount) -> bool:
    """Whether a failure aborts a client of pgbench: one that is neither tried again nor allowed."""
    is_tried_again = failure.failure_class in ("serialization", "deadlock")
    return not is_tried_again and not command.continues


class BenchmarkProgress(Observer):
    """An observer that writes a line each so many seconds, as the command asks for."""

    def __init__(self, command: Command, streams: Streams) -> None:
        self.retried: Counter[int] = Counter()
        """By the script's number in the run: its transactions that took more than one try."""
        self.logs: TransactionLogs | None = None
        self.has_abort = False
        """Whether a client's transaction has failed in a way that aborts the client there."""
        self._command = command
        self._streams = streams
        self._begin_ns = 0
        self._unix_ns = 0
        self._reported = _NOTHING
        self._clear(0)

    @property
    def has_enough(self) -> bool:
        """Whether the command asks for the end of the run, now that a client has aborted."""
        return self._command.exits_on_abort and self.has_abort

    def say(self, text: str) -> None:
        """Write what happens during the load: what precedes it does not belong to the output."""
        if self._begin_ns:
            self._streams.say(*text.splitlines())

    def started(self, _plan: Plan, started: Started) -> None:
        """Note when the load began."""
        self._begin_ns = started.measure_begin_ns
        self._unix_ns = started.unix_ns - started.monotonic_ns
        self._clear(self._begin_ns)
        if self.logs:
            self.logs.started(started)

    def transactions(self, transactions: Transactions) -> None:
        """Log them."""
        if self.logs:
            self.logs.add(transactions)

    def interval(self, interval: Interval) -> None:
        """Add an interval, and report all since the last line once the next is due."""
        self.has_abort |= any(aborts(self._command, one) for one in interval.failures)
        self._ok += interval.completed_ok
        self._failed += interval.completed_failed
        for number, script in enumerate(interval.scripts):
            self.retried[number] += script.retried
            self._count += script.response.count
            self._sum_ns += script.response.sum_ns
            self._service_ns += (script.service or script.response).sum_ns
            self._buckets.update(script.response.coarse_counts())
        every_ns = self._command.progress_s * 10**9
        if self.logs:
            self.logs.interval(interval)
        # An interval ends a moment before or after the second.
        if every_ns and interval.end_ns - self._since_ns >= every_ns * 0.99:
            self._streams.aside(f"progress: {', '.join(self._parts(interval))}\n")
            self._reported = interval.counters
            self._clear(interval.end_ns)

    def _clear(self, now_ns: int) -> None:
        self._since_ns = now_ns
        self._ok = self._failed = self._count = self._sum_ns = self._service_ns = 0
        self._buckets: Counter[int] = Counter()

    def _parts(self, interval: Interval) -> Iterator[str]:
        command, now, before = self._command, interval.counters, self._reported
        if command.has_timestamps:
            yield f"{(interval.end_ns + self._unix_ns) / 1e9:.3f} s"
        else:
            yield f"{(interval.end_ns - self._begin_ns) / 1e9:.1f} s"
        yield f"{self._ok * 1e9 / (interval.end_ns - self._since_ns):.1f} tps"
        mean_ns = self._sum_ns / self._count if self._count else 0.0
        yield f"lat {mean_ns / 1e6:.3f} ms stddev {self._deviation_ns(mean_ns) / 1e6:.3f}"
        yield f"{self._failed} failed"
        if command.rate:
            lag_ns = (self._sum_ns - self._service_ns) / self._count if self._count else 0.0
            yield f"lag {lag_ns / 1e6:.3f} ms"
            if command.limit_ms:
                yield f"{now.skipped - before.skipped} skipped"
        if command.tries_max != 1:
            yield f"{now.retried - before.retried} retried"
            yield f"{now.retries - before.retries} retries"

    def _deviation_ns(self, mean_ns: float) -> float:
        """The standard deviation, as if all values of a bucket were in its middle."""
        if not self._count:
            return 0.0
        squares = 0.0
        for index, number in self._buckets.items():
            middle = (bucket_low_ns(index) + bucket_low_ns(index + 1)) / 2
            squares += number * (middle - mean_ns) ** 2
        return math.sqrt(squares / self._count)
