"""Drives one engine to its end: passes on every frame, informs the observer, ends silent engines.

Reports what happened and judges nothing: that is the task of ``run/verdict.py``. An outage is
reported while it lasts, as users see it: each thread of the engine reports its own connections, and
some may be lost twice when a server restarts. The record keeps the reports of each thread.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from dbdyno.errors import DbdynoError
from dbdyno.formatting import counted, seconds
from dbdyno.model.frame import (
    Connected,
    Connecting,
    Done,
    Failed,
    Frame,
    Hello,
    Interval,
    Note,
    Outage,
    OutageBegun,
    Started,
)
from dbdyno.model.plan import Plan
from dbdyno.model.record import FailoverRecord, StandbyRecord
from dbdyno.model.worker import WorkerPart
from dbdyno.run.interrupts import deferred_to
from dbdyno.run.observer import Observer
from dbdyno.run.silence import Watchdog

# A busy host may delay a frame by seconds; an engine in an endless loop sends none at all.
SILENCE_MIN_S = 10.0
# Computation by clients before the load begins disturbs nothing: sysbench allows as much time.
BEGINNING_MIN_S = 30.0
SILENCE_INTERVALS = 5
IDENTITY_HINT = "this is a bug in dbdyno: no result of this run can be trusted"

# Losses that follow each other this closely are one outage.
QUIET_NS = 1_000_000_000


class Engine(Protocol):
    """A running engine: iterating yields each frame, raw and decoded, until it ends."""

    def __iter__(self) -> Iterator[tuple[bytes, Frame]]:
        """Yield the frames as they arrive."""

    def stop(self) -> None:
        """Ask it to end in an orderly way."""

    def served_by(self, tasks: Mapping[int, int]) -> None:
        """Send it the task of this host that serves each session of the server."""

    def awaited(self) -> str:
        """Say what keeps it from sending frames, if it knows."""

    def kill(self) -> None:
        """End it without waiting."""

    def abandon(self) -> None:
        """End it and wait until it has ended."""


@dataclass(kw_only=True)
class Measured:
    """What the engine reported, as far as it came."""

    hello: Hello | None = None
    connected: Connected | None = None
    started: Started | None = None
    last: Interval | None = None
    responses: int = 0
    """Response times recorded so far, over all measured intervals."""
    done: Done | None = None
    failed: Failed | None = None
    was_silent: bool = False
    awaited: str = ""
    """Whom the others waited for when it fell silent, if several shared the load."""
    workers: Sequence[WorkerPart] = ()
    """What each engine did, if several shared the load."""
    failovers: Sequence[FailoverRecord] = ()
    """What was seen of each planned event."""
    standbys: Sequence[StandbyRecord] = ()
    """What the probe saw on each standby."""
    got_interrupt: bool = False
    """Whether the user requested the end, however the engine then ended."""

    @property
    def has_begun(self) -> bool:
        """Whether the load has started."""
        return self.started is not None

    @property
    def was_interrupted(self) -> bool:
        """Whether the run was interrupted, by the engine's account or, if killed, by the signal."""
        return self.got_interrupt if self.done is None else self.done.end == "interrupted"


def measure(
    engine: Engine,
    plan: Plan,
    observer: Observer,
    keep: Callable[[bytes, Frame], None],
    log: Callable[[str], None],
) -> Measured:
    """Read the engine's frames to the end; ``keep`` receives each, raw and decoded."""
    reader = _Reader(plan, observer, log)
    # Until the first message of the engine's threads; further ones come regularly.
    first_s = (plan.stall_limit_ns + plan.endpoint.connect_timeout_ns) / 1e9 + SILENCE_MIN_S

    def end_silent() -> None:
        reader.measured.awaited = engine.awaited()
        engine.kill()

    with (
        Watchdog(end_silent, first_s) as watchdog,
        deferred_to(engine.stop, engine.kill) as interrupts,
    ):
        try:
            for raw, frame in engine:
                with watchdog.reading():
                    if isinstance(frame, Connecting | Started):
                        has_begun = isinstance(frame, Started)
                        least_s = SILENCE_MIN_S if has_begun else BEGINNING_MIN_S
                        watchdog.allow(max(least_s, SILENCE_INTERVALS * plan.interval_ns / 1e9))
                    keep(raw, frame)
                    reader.take(frame)
                    if isinstance(frame, Interval) and observer.has_enough:
                        engine.stop()
        except BaseException:
            engine.abandon()
            raise
    reader.measured.was_silent = watchdog.has_fired
    reader.measured.got_interrupt = interrupts.came
    return reader.measured


class _Reader:
    """Takes frames, notes their contents, and passes on what users want to know."""

    def __init__(self, plan: Plan, observer: Observer, log: Callable[[str], None]) -> None:
        self.measured = Measured()
        self._plan = plan
        self._observer = observer
        self._log = log
        self._outages = OutageReporter(self._report)

    def _report(self, text: str) -> None:
        self._log(text)
        self._observer.say(text)

    def take(self, frame: Frame) -> None:
        """Take one frame, of any kind."""
        self._outages.take(frame)
        measured = self.measured
        match frame:
            case Hello():
                measured.hello = frame
                for warning in frame.warnings:
                    self._log(f"engine: {warning}")
            case Connected():
                measured.connected = frame
            case Started():
                measured.started = frame
                self._observer.started(self._plan, frame)
            case Interval():
                _count(measured, frame)
                self._observer.interval(frame)
            case Note():
                self._log(f"{frame.source}: {frame.text}")
                if frame.source != "server":
                    self._observer.say(frame.text)
            case Done():
                measured.done = frame
            case Failed():
                measured.failed = frame
            case _:
                pass


def _count(measured: Measured, interval: Interval) -> None:
    """Check again what the engine checked when it closed the interval, after its transmission."""
    if interval.phase != "warmup":
        measured.responses += sum(script.response.count for script in interval.scripts)
    failed = sum(failure.count for failure in interval.failures)
    if broken := interval.counters.broken_identity(failed, measured.responses):
        raise DbdynoError("identity", f"interval {interval.index}: {broken}", IDENTITY_HINT)
    measured.last = interval


class OutageReporter:
    """Combines the outage reports of the engine's threads."""

    def __init__(self, report: Callable[[str], None]) -> None:
        self._report = report
        self._threads = 0
        """Number of threads with lost connections."""
        self._outages: list[Outage] = []
        """The reports on the present outage."""
        self._is_out = False
        """Whether its beginning has been reported, and not yet its end."""

    def take(self, frame: Frame) -> None:
        """Take a frame of the engine."""
        match frame:
            case OutageBegun():
                self._threads += 1
                if not self._is_out:
                    self._is_out = True
                    self._report(f"connections lost: {frame.message}; clients try to reconnect")
            case Outage():
                self._threads -= 1
                self._outages.append(frame)
            case Interval() if self._is_quiet(frame.end_ns):
                self._finish()
            case Done():
                self._finish()
            case _:
                pass

    def _is_quiet(self, now_ns: int) -> bool:
        """Whether all threads have their connections again, or are lost, for long enough."""
        ends_ns = [
            outage.begin_ns if outage.end_ns is None else outage.end_ns for outage in self._outages
        ]
        return bool(ends_ns) and not self._threads and now_ns - max(ends_ns) >= QUIET_NS

    def _finish(self) -> None:
        """Report the end of the outage, or of the run."""
        if self._is_out and self._outages:
            self._report(_summary(self._outages))
        self._is_out = False
        self._outages = []


def _summary(outages: Sequence[Outage]) -> str:
    """Describe an outage from its first loss, not its first report, to its last reconnection."""
    lost = sum(outage.connections_lost for outage in outages)
    missing = sum(outage.connections_lost for outage in outages if outage.end_ns is None)
    if missing:
        who = "and" if missing == lost else f"{missing} of them"
        return f"{counted(lost, 'connection')} lost, {who} not restored"
    begin_ns = min(outage.begin_ns for outage in outages)
    end_ns = max(outage.end_ns for outage in outages if outage.end_ns is not None)
    away = seconds((end_ns - begin_ns) / 1e9)
    return f"reconnected after {away}: {counted(lost, 'connection')} lost"
