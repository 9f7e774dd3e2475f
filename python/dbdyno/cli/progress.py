"""What users see during a run.

In a terminal one line is updated in place; in a pipe, lines follow each other, for a load only as
many as a log needs.

All of it goes to standard error. Percentiles in the line come from the coarse buckets, so that
scripts and intervals can be merged; those of the result do not.
"""

import contextlib
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import IO, Self

import numpy as np

from dbdyno.analysis.series.distributions import coarse_quantile_ms
from dbdyno.cli.output import SCREEN_USUAL, screen, wrapped
from dbdyno.formatting import count, milliseconds, plain, tps
from dbdyno.layout import shortened
from dbdyno.model.frame import Interval, Started
from dbdyno.model.plan import Plan
from dbdyno.run.observer import Observer
from dbdyno.run.plan import planned_ns
from dbdyno.workloads.loading import LoadProgress

LOADING_S = 10.0


class StatusLine:
    """The status line of one stream; nothing fails if nobody reads it."""

    def __init__(self, stream: IO[str] | None = None) -> None:
        self._stream = stream or sys.stderr
        columns = screen(self._stream)
        self.is_in_terminal = columns is not None
        self.room = (columns or SCREEN_USUAL) - 1
        """A line that wraps into the next cannot be erased."""
        self._is_open = False

    def renew(self, text: str) -> None:
        """Replace the text by another of at most ``room`` characters."""
        self._write(f"\r{text}\x1b[K")
        self._is_open = True

    def stay(self, text: str) -> None:
        """Write a text that stays; the present text stays, too."""
        self.close()
        self._write(f"{text}\n")

    def take_back(self) -> None:
        """Erase the present text."""
        if self._is_open:
            self._write("\r\x1b[K")
            self._is_open = False

    def close(self) -> None:
        """Keep the present text."""
        if self._is_open:
            self._write("\n")
            self._is_open = False

    def _write(self, text: str) -> None:
        # A terminal may be closed during an operation, which nevertheless continues to its end.
        with contextlib.suppress(OSError):
            self._stream.write(text)
            self._stream.flush()


@dataclass
class _Reported:
    """When a pipe got the last line on a load: one each ten seconds, later also for each phase."""

    at_s: float
    phase: str = ""

    def is_due(self, phase: str, now_s: float) -> bool:
        """Whether a line is due; if so, it counts as written."""
        if now_s - self.at_s < LOADING_S and self.phase in ("", phase):
            return False
        self.at_s, self.phase = now_s, phase
        return True


class ProgressLines(Observer):
    """An observer that writes lines, at most one each ``every_ns``; 0 for none."""

    def __init__(
        self,
        every_ns: int,
        stream: IO[str] | None = None,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._now_s = now_s
        self._reported: _Reported | None = None
        self._line = StatusLine(stream)
        self._every_ns = every_ns
        self._ends_at_ns: int | None = None
        self._total: int | None = None
        self._begin()

    def say(self, text: str) -> None:
        """Write a message that stays, in as many lines as it takes."""
        self._line.stay(plain("\n".join(map(wrapped, text.splitlines()))))

    def loading(self, progress: LoadProgress) -> None:
        """Show how far the load has come."""
        if not self._every_ns:
            return
        self._reported = self._reported or _Reported(self._now_s())
        if self._line.is_in_terminal or self._reported.is_due(progress.phase, self._now_s()):
            self._write(loading_text(progress))

    def started(self, plan: Plan, started: Started) -> None:
        """Note when the run is to end."""
        planned = planned_ns(plan)
        self._ends_at_ns = None if planned is None else started.measure_begin_ns + planned
        each = plan.transactions_per_client
        self._total = each and each * plan.requesting_clients

    def interval(self, interval: Interval) -> None:
        """Add an interval, and show the total since the last line once the next is due."""
        self._ns += interval.end_ns - interval.begin_ns
        self._committed += interval.completed_committed
        self._failed += interval.completed_failed
        for script in interval.scripts:
            self._buckets.update(script.response.coarse_counts())
        if self._every_ns and self._ns >= self._every_ns * 0.9:
            self._write(
                f"{interval.phase:7} {tps(self._committed * 1e9 / self._ns):>10} TPS   "
                f"p50 {_time(self._buckets, 0.5)}   p99 {_time(self._buckets, 0.99)}   "
                f"{count(self._failed)} failed   {self._left(interval)}"
            )
            self._begin()

    def _begin(self) -> None:
        self._ns, self._committed, self._failed = 0, 0, 0
        self._buckets: Counter[int] = Counter()

    def _left(self, interval: Interval) -> str:
        if interval.phase == "drain":
            return "waiting for transactions in flight"
        if self._ends_at_ns is not None:
            return f"{clock(max(self._ends_at_ns - interval.end_ns, 0) / 1e9)} left"
        done = count(interval.counters.ok)
        return f"{done} of {count(self._total)} done" if self._total else ""

    def _write(self, line: str) -> None:
        if self._line.is_in_terminal:
            self._line.renew(plain(shortened(line, self._line.room)))
        else:
            self._line.stay(plain(line))

    def close(self) -> None:
        """Keep the last line."""
        self._line.close()

    def __enter__(self) -> Self:
        """Do nothing: lines need no preparation."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Keep the last line."""
        self.close()


def loading_text(progress: LoadProgress) -> str:
    """The phase of a load and, for rows, their number, their rate and the time left."""
    line = f"loading: {progress.phase}"
    if progress.phase == "fill":
        line += f", {count(progress.rows)} of {count(progress.rows_total)} rows"
    if progress.left_s is not None:
        line += f", {count(progress.rows_per_s)} rows/s, {clock(progress.left_s)} left"
    return line


def _time(buckets: Counter[int], quantile: float) -> str:
    """Format a response time with a fixed width."""
    counts = np.array([[buckets[index] for index in range(max(buckets, default=0) + 1)]])
    return f"{milliseconds(float(coarse_quantile_ms(counts, quantile)[0])):>7}"


def clock(seconds: float) -> str:
    """Format a duration like a clock."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
