"""Runs that are going on: each is read once for all who watch it, and no more than it can bear.

The load generator may be on this host, so watching has a budget. Measurement intervals are decoded
as they come, which takes a few milliseconds for each. What is made of the whole run is made again
when its cost has become a small share of the time since: reports of long runs are renewed less
often, and a second browser costs nothing more.
"""

import asyncio
import time
import traceback
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Generic, Literal, TypeVar

from msgspec import Struct

from dbdyno.analysis.series.timeline import timeline
from dbdyno.errors import DbdynoError
from dbdyno.explain.explain import Explanation
from dbdyno.model.run import Histograms, Run
from dbdyno.report.content import HeadLine
from dbdyno.serve.intervals import intervals_of
from dbdyno.serve.reading import run_named
from dbdyno.store.listing import read_record
from dbdyno.store.run import FollowedRun, RunFolder
from dbdyno.store.summary import list_runs

Made = TypeVar("Made")

REPORT_SHARE = 0.003
"""Of one CPU, for the report so far; and for what clients are waiting for now."""
NOW_SHARE = 0.0015
STREAMS_MAX = 100
LOOK_S = 1.0
UNWATCHED_S = 30.0
"""How long a run is read on after somebody has looked at it."""


class Thrifty(Generic[Made]):
    """What is made of a run again, when that has become cheap compared with its age."""

    def __init__(self, make: Callable[[Run], Made], share: float) -> None:
        self._make = make
        self._share = share
        self._lock = Lock()
        self._made: Made | None = None
        self._due_s = 0.0
        self.version = 0

    def of(self, run: Run) -> Made:
        """The thing, as new as it may be."""
        with self._lock:
            if self._made is None or time.monotonic() >= self._due_s:
                before_s = time.thread_time()
                self._made = self._make(run)
                cost_s = time.thread_time() - before_s
                self._due_s = time.monotonic() + cost_s / self._share
                self.version += 1
            return self._made


class Report(Struct, frozen=True, kw_only=True):
    """What a run has shown so far, for all who look."""

    title: str
    head: Sequence[HeadLine]
    body: str
    """HTML."""
    explanation: Explanation


class RunState(Struct, frozen=True, kw_only=True):
    """How a run stands: the last event of its stream."""

    run_id: str
    status: str


class Event(Struct, frozen=True, kw_only=True):
    """What happened in a run; an interval has its number as ``id``."""

    kind: Literal["interval", "findings", "state"]
    data: object
    id: int | None = None


class LiveRun:
    """A run that is going on, shared by all who watch it."""

    def __init__(self, folder: Path, live: "Live") -> None:
        self.run_id = folder.name
        self.report = Thrifty(live.report, REPORT_SHARE)
        self.now = Thrifty(live.now, NOW_SHARE)
        self.status = "running"
        self.watchers = 0
        self.used_s = time.monotonic()
        self._folder = folder
        self._histograms = live.histograms
        self._followed = FollowedRun(folder)
        self._looks = 0
        self._looked = asyncio.Condition()
        self.run = self._followed.load(self._histograms)

    async def events(self, since: int) -> AsyncIterator[Event]:
        """What happens from now on, after the intervals up to ``since``."""
        version = 0
        while True:
            looks, is_over = self._looks, self.status != "running"
            found = await asyncio.to_thread(intervals_of, self.run, since)
            for interval in found.intervals:
                since = interval.interval
                yield Event(kind="interval", data=interval, id=since)
            if version != self.report.version:
                version = self.report.version
                report = await asyncio.to_thread(self.report.of, self.run)
                yield Event(kind="findings", data=report.explanation)
            if is_over:
                return
            async with self._looked:
                while self._looks == looks:
                    await self._looked.wait()

    async def follow(self) -> None:
        """Read on until the run is over, or until nobody looks any more."""
        while self.status == "running":
            if not self.watchers and time.monotonic() > self.used_s + UNWATCHED_S:
                break
            await asyncio.sleep(LOOK_S)
            try:
                await asyncio.to_thread(self._read_on)
            except Exception as error:  # a stream that ends is better than one that only waits
                traceback.print_exception(error)
                self.status = "unreadable"
            async with self._looked:
                self._looks += 1
                self._looked.notify_all()
        self._followed.close()

    def _read_on(self) -> None:
        if self._followed.has_more():
            self.run = self._followed.load(self._histograms)
            if self.watchers:
                timeline(self.run)  # once, and not by each of those who wait for it
                self.report.of(self.run)
        else:
            self.status = read_record(self._folder).status


class Live:
    """The runs that are being watched."""

    def __init__(
        self,
        histograms: Histograms,
        report: Callable[[Run], Report],
        now: Callable[[Run], str],
    ) -> None:
        self.histograms = histograms
        self.report = report
        self.now = now
        self._runs: dict[str, LiveRun] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._opening = asyncio.Lock()
        self.streams = 0

    async def run(self, name: str) -> LiveRun | None:
        """The run if it is going on."""
        folder = run_named(name)
        async with self._opening:  # it is read once, however many ask for it at the same time
            found = self._runs.get(folder.name)
            if found is None and read_record(folder).status == "running":
                with suppress(FileNotFoundError):  # it has ended just now
                    found = await asyncio.to_thread(LiveRun, folder, self)
                    self._runs[folder.name] = found
                    task = asyncio.create_task(self._follow(found))
                    self._tasks.add(task)
                    task.add_done_callback(self._tasks.discard)
        if found is not None:
            found.used_s = time.monotonic()
        return found

    async def running(self) -> list[Run]:
        """All runs that are going on, as far as they have come."""
        listed = await asyncio.to_thread(list_runs)
        found = [await self.run(one.run_id) for one in listed if one.status == "running"]
        return [live.run for live in found if live is not None]

    async def stream(self, name: str, since: int) -> AsyncIterator[Event]:
        """The events of a run after an interval; refuses to serve too many at once."""
        folder = run_named(name)
        live = await self.run(name)
        if self.streams >= STREAMS_MAX:
            raise DbdynoError(
                "too_many_streams",
                f"{STREAMS_MAX} event streams are open already.",
                "Ask for the intervals from time to time instead.",
            )
        return self._events(folder, live, since)

    async def _events(self, folder: Path, live: LiveRun | None, since: int) -> AsyncIterator[Event]:
        if live is None:
            run = await asyncio.to_thread(RunFolder(folder).load, self.histograms)
            found = await asyncio.to_thread(intervals_of, run, since)
            for interval in found.intervals:
                yield Event(kind="interval", data=interval, id=interval.interval)
        else:
            live.watchers += 1
            try:
                async for event in live.events(since):
                    yield event
            finally:
                live.watchers -= 1
        state = RunState(run_id=folder.name, status=read_record(folder).status)
        yield Event(kind="state", data=state)

    async def _follow(self, live: LiveRun) -> None:
        try:
            await live.follow()
        finally:
            self._runs.pop(live.run_id, None)
