"""``-l``: pgbench's files, with a line for each transaction or for each stretch of seconds.

There is a file for each of pgbench's threads, with the clients that it would have had. Lines are
written when the interval of their transactions has ended.
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack
from typing import IO

import numpy as np

from dbdyno.model.frame import Interval, Started, Transactions
from dbdyno.peers.pgbench.command import Command
from dbdyno.peers.pgbench.options import error
from dbdyno.peers.reported_rows import (
    DEADLOCK,
    OK,
    OTHER,
    ROW,
    SERIALIZATION,
    SKIPPED,
    Rows,
    rows_of,
)

PREFIX = "pgbench_log"
_FATES = {SKIPPED: "skipped", SERIALIZATION: "serialization", DEADLOCK: "deadlock", OTHER: "other"}


class TransactionLogs:
    """The files of one benchmark; a context manager that closes them.

    ``order`` are the numbers of the scripts in the run, in the order of the command.
    """

    def __init__(self, command: Command, order: tuple[int, ...]) -> None:
        self._command = command
        self._shown_as = np.argsort(np.array(order))
        self._threads = min(command.threads, command.clients)
        self._thread_of = _dealt(command.clients, self._threads)
        self._numbers = np.zeros(command.clients, dtype=int)
        self._chance = np.random.default_rng()
        self._unix_ns = 0
        self._begin_ns = 0
        self._files: list[IO[str]] = []
        self._stretches: list[Rows] = []
        self._stretch = 0
        self._opened = ExitStack()

    def __enter__(self) -> "TransactionLogs":
        """Create the files."""
        prefix = self._command.log_prefix or PREFIX
        for thread in range(self._threads):
            name = f"{prefix}.{os.getpid()}" + (f".{thread}" if thread else "")
            try:
                file = open(name, "w", encoding="ascii")  # noqa: PTH123
            except OSError as problem:
                raise error(f'could not open logfile "{name}": {problem.strerror}') from None
            self._files.append(self._opened.enter_context(file))
        return self

    def __exit__(self, *_error: object) -> None:
        """Close them."""
        self._opened.close()

    def started(self, started: Started) -> None:
        """Note how the clocks differ."""
        self._unix_ns = started.unix_ns - started.monotonic_ns
        self._begin_ns = started.measure_begin_ns

    def add(self, transactions: Transactions) -> None:
        """Write the lines of transactions, or keep them for that of their stretch."""
        rows = rows_of(transactions)
        if self._command.aggregate_s:
            self._stretches.append(rows)
        else:
            self._write(rows)

    def interval(self, interval: Interval) -> None:
        """Write the lines of all stretches that have ended: the rows precede their interval."""
        if self._command.aggregate_s:
            self._aggregate(interval.end_ns)

    def finish(self) -> None:
        """Write the line of the last stretch, which may be shorter."""
        if self._command.aggregate_s and self._stretches:
            last = max(int(rows["done"].max(initial=0)) for rows in self._stretches)
            self._aggregate(last + self._stretch_ns)

    @property
    def _stretch_ns(self) -> int:
        return self._command.aggregate_s * 10**9

    def _clients(self, rows: Rows) -> Rows:
        """The clients of the rows; a skipped transaction has none, and is one of the first's."""
        return np.where(rows["fate"] == SKIPPED, 0, rows["client"])

    def _write(self, rows: Rows) -> None:
        command = self._command
        clients = self._clients(rows)
        share = command.sampling_rate or 1.0
        kept = self._chance.random(len(rows)) < share
        for row, client, is_kept in zip(
            rows.tolist(), clients.tolist(), kept.tolist(), strict=True
        ):
            _, script, fate, tries, due, sent, done = row
            number = self._numbers[client]
            self._numbers[client] += 1
            if not is_kept:
                continue
            unix_us = (done + self._unix_ns) // 1000
            parts = [
                str(client),
                str(number),
                self._time(fate, done - due),
                str(self._shown_as[script]),
                str(unix_us // 10**6),
                str(unix_us % 10**6),
            ]
            if command.rate:
                parts.append(str((sent - due) // 1000 if fate == OK else 0))
            if command.tries_max != 1:
                parts.append(str(tries - 1))
            self._files[self._thread_of[client]].write(" ".join(parts) + "\n")

    def _time(self, fate: int, took_ns: int) -> str:
        if fate == OK:
            return str(round(took_ns / 1000))
        return _FATES[fate] if fate == SKIPPED or self._command.details_failures else "failed"

    def _aggregate(self, until_ns: int) -> None:
        rows = np.concatenate([np.empty(0, ROW), *self._stretches])
        while (end_ns := self._begin_ns + (self._stretch + 1) * self._stretch_ns) <= until_ns:
            is_of = rows["done"] < end_ns
            threads = np.array(self._thread_of)[self._clients(rows)]
            begin_s = (end_ns - self._stretch_ns + self._unix_ns) // 10**9
            for thread, file in enumerate(self._files):
                numbers = self._sums(rows[is_of & (threads == thread)])
                file.write(f"{begin_s} {' '.join(map(str, numbers))}\n")
            rows = rows[~is_of]
            self._stretch += 1
        self._stretches = [rows]

    def _sums(self, rows: Rows) -> Iterator[int]:
        """Yield the columns after the first of a line about these transactions."""
        command = self._command
        ok = rows[rows["fate"] == OK]
        yield len(ok)
        yield from _moments((ok["done"] - ok["due"]) / 1000)
        lags = (ok["sent"] - ok["due"]) / 1000 if command.rate else np.empty(0)
        yield from _moments(lags)
        yield int((rows["fate"] == SKIPPED).sum()) if command.rate and command.limit_ms else 0
        again = rows["tries"][rows["tries"] > 1] if command.tries_max != 1 else np.empty(0)
        yield len(again)
        yield int((again - 1).sum())
        for fate in (SERIALIZATION, DEADLOCK):
            yield int((rows["fate"] == fate).sum()) if command.details_failures else 0


def _moments(times_us: Rows) -> tuple[int, int, int, int]:
    """The sum, the sum of squares, the minimum and the maximum; zeros of nothing."""
    if not len(times_us):
        return (0, 0, 0, 0)
    sums = times_us.sum(), (times_us**2).sum(), times_us.min(), times_us.max()
    return tuple(round(float(value)) for value in sums)  # type: ignore[return-value] # four


def _dealt(clients: int, threads: int) -> list[int]:
    """The thread of each client, as pgbench deals them: in order, evenly."""
    sizes = [clients // threads + (thread < clients % threads) for thread in range(threads)]
    return [thread for thread, size in enumerate(sizes) for _ in range(size)]
