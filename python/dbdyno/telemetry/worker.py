"""A thread of telemetry: what it does before, during and after the load.

Any error is reported and ends only this thread. Its CPU time while the load runs is part of the
cost of telemetry; what it uses before and after does not affect the measurement.
"""

import threading
import time
from typing import Protocol

from dbdyno.host.describe import ROOT
from dbdyno.host.processes import running_ns
from dbdyno.model.frame import Started
from dbdyno.telemetry.load_clock import LoadClock
from dbdyno.telemetry.publisher import FramePublisher, error_line


class Task(Protocol):
    """What one thread records."""

    name: str

    def prepare(self) -> None:
        """Prepare before the load, while its clients connect."""

    def read_baseline(self) -> None:
        """Read what the load starts from: all clients are connected and do nothing yet."""

    def watch(self, started: Started, load_clock: LoadClock) -> None:
        """Record until the load ends."""

    def conclude(self) -> None:
        """Finish after the engine has disconnected."""


class Worker:
    """Carries out one task."""

    def __init__(self, task: Task, load_clock: LoadClock, publisher: FramePublisher) -> None:
        self.task = task
        self._load_clock = load_clock
        self._publisher = publisher
        self._thread = threading.Thread(
            target=self._work, name=f"telemetry of the {task.name}", daemon=True
        )
        self.cpu_us = 0
        """CPU time while the load ran; known once it has ended."""
        self._latest_ns = 0
        self._may_read_baseline = threading.Event()
        self._is_ready = threading.Event()
        self._thread.start()

    def _work(self) -> None:
        try:
            self._get_ready()
            started = self._load_clock.wait_for_start()
            if started is not None:
                self._watch(started)
                self.task.conclude()
        except Exception as error:  # telemetry never ends a run
            self._publisher.publish_lack(
                self.task.name, f"its telemetry ended: {error_line(error)}"
            )

    def _get_ready(self) -> None:
        try:
            self.task.prepare()
            self._may_read_baseline.wait()
            if not self._load_clock.is_over:
                self.task.read_baseline()
        finally:
            self._is_ready.set()

    def _watch(self, started: Started) -> None:
        began_ns = time.thread_time_ns()
        try:
            self.task.watch(started, self._load_clock)
        finally:
            self.cpu_us = (time.thread_time_ns() - began_ns) // 1000

    def used_ns(self) -> int:
        """Return the CPU time so far; of a thread that has ended, the last value that was read."""
        task = self._thread.native_id
        used_ns = None if task is None else running_ns(ROOT, task)
        self._latest_ns = self._latest_ns if used_ns is None else used_ns
        return self._latest_ns

    def let_read_baseline(self) -> None:
        """Let it read its baseline as soon as it has prepared."""
        self._may_read_baseline.set()

    def is_ready_within(self, seconds: float) -> bool:
        """Wait for the baseline, or an error, for at most this long; return whether it came."""
        return self._is_ready.wait(seconds)

    def is_done_within(self, seconds: float) -> bool:
        """Wait for the thread to end, for at most this long; return whether it has."""
        self._thread.join(seconds)
        return not self._thread.is_alive()
