"""Follows the server's log from its end at the start of the load.

Lines carry the time of the server's clock. It is converted to the run's clock by the offset that
the engine reported, which is right on one host; if a line's time is too far from the time at which
it was read, the clocks differ, and the time of reading is used instead.

The file is kept open: if another file takes its place, the old one is read to its end first,
whatever its name is by then. Lines removed by truncation are lost. The location is looked up
repeatedly: a log collector switches to a file with a new name when the old one is large or a day
old.
"""

import codecs
import os
import re
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

import msgspec

from dbdyno.databases.telemetry import LogReader
from dbdyno.model.frame import Started
from dbdyno.model.telemetry import LogEntry
from dbdyno.telemetry.load_clock import LoadClock
from dbdyno.telemetry.publisher import FramePublisher, error_line

SOURCE = "log"
# A server that logs every statement writes more than is worth reading.
BYTES_MAX = 1 << 18
EVERY_NS = 10**9
FIND_EVERY_NS = 5 * 10**9
EARLY_MAX_NS = 60 * 10**9
LATE_MAX_NS = 5 * 10**9
_DIGITS = re.compile(r"\d+")


class LogFollower:
    """Publishes what is added to the log; ``find_path`` may have to query the server."""

    name = SOURCE

    def __init__(
        self, find_path: Callable[[], Path | None], reader: LogReader, publisher: FramePublisher
    ) -> None:
        self._find_path = find_path
        self._reader = reader
        self._publisher = publisher
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._path: Path | None = None
        self._file: BinaryIO | None = None
        self._place = 0
        self._file_id = (0, 0)
        self._find_at_ns = 0
        self._started: Started | None = None

    def prepare(self) -> None:
        """Find the current end of the log."""
        path = self._find_path()
        if path is None:
            self._publisher.publish_lack(
                SOURCE, "its location on this host is not known: give it with --server-log"
            )
            return
        try:
            with path.open("rb") as file:
                self._place = file.seek(0, os.SEEK_END)
                self._file_id = _file_id(os.fstat(file.fileno()))
        except OSError as error:
            self._publisher.publish_lack(SOURCE, f"{path} cannot be read: {error.strerror}")
        else:
            self._path = path

    def read_baseline(self) -> None:
        """Read nothing: the end of the log is known."""

    def watch(self, started: Started, load_clock: LoadClock) -> None:
        """Read the log every second until the load ends."""
        self._started = started
        while load_clock.sleep_until(time.monotonic_ns() + EVERY_NS):
            self.read()
            if time.monotonic_ns() >= self._find_at_ns:
                self.find_again()

    def conclude(self) -> None:
        """Read the rest, and publish the lines that were held back."""
        self.read()
        self.find_again()
        self.read()
        self.read()
        if self._file is not None:
            self._file.close()
            self._file = None

    def find_again(self) -> None:
        """Look up the file that is written now; keep the known one if the lookup fails."""
        if self._path is None:
            return
        self._find_at_ns = time.monotonic_ns() + FIND_EVERY_NS
        with suppress(Exception):  # other tasks report that the server has gone
            self._path = self._find_path() or self._path

    def read(self) -> None:
        """Publish the entries that were added."""
        if self._path is None:
            return
        try:
            self._read(self._path)
        except Exception as error:  # the run continues, whatever the error
            self._publisher.publish_lack(SOURCE, error_line(error))

    def _read(self, path: Path) -> None:
        if self._file is None:
            self._file = self._opened(path)
        self._publish(self._added(self._file))
        if _file_id(path.stat()) != self._file_id:
            newer = self._opened(path)
            self._file.close()
            self._file = newer
            self._publish(self._added(newer))

    def _opened(self, path: Path) -> BinaryIO:
        """Open the file at this path; a file other than the last one is read from its beginning."""
        file = path.open("rb")
        before, self._file_id = self._file_id, _file_id(os.fstat(file.fileno()))
        if before != self._file_id:
            self._place = 0
        return file

    def _publish(self, added: bytes) -> None:
        now_ns = time.monotonic_ns()
        for entry in self._reader.feed(self._decoder.decode(added)):
            at_ns = self._on_our_clock(entry, now_ns)
            self._publisher.publish(msgspec.structs.replace(entry, at_ns=at_ns))

    def _added(self, file: BinaryIO) -> bytes:
        size = file.seek(0, os.SEEK_END)
        if size < self._place:
            self._publisher.publish_lack(SOURCE, "it was truncated meanwhile: lines may be missing")
            self._place = 0
        if size - self._place > BYTES_MAX:
            self._publisher.publish_lack(SOURCE, "it grows too fast: parts of it were skipped")
            self._place = size - BYTES_MAX
        file.seek(self._place)
        added = file.read(size - self._place)
        self._place += len(added)
        return added

    def _on_our_clock(self, entry: LogEntry, now_ns: int) -> int:
        started = self._started
        if started is None or not entry.at_ns:
            return now_ns
        at_ns = entry.at_ns - started.unix_ns + started.monotonic_ns
        if started.monotonic_ns - EARLY_MAX_NS <= at_ns <= now_ns + LATE_MAX_NS:
            return at_ns
        self._publisher.publish_lack(
            SOURCE, "the clocks differ: entries have the time at which they were read"
        )
        return now_ns


def _file_id(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


class ConfiguredLog:
    """A log file that the user or dbdyno itself named: the server is not queried for it.

    If a new file appears beside it whose name differs only in its digits, that is reported as
    something that may be missing. It is not read, since it may be another server's log.
    """

    def __init__(self, path: Path, publisher: FramePublisher) -> None:
        self._path = path
        self._publisher = publisher
        self._known = self._namesakes()

    def find(self) -> Path:
        """Return the file; report each new file with a similar name, once."""
        new = self._namesakes() - self._known
        self._known |= new
        for name in sorted(new):
            self._publisher.publish_lack(
                SOURCE,
                f"the server may now write to {name}, which is not read: lines may be missing",
            )
        return self._path

    def _namesakes(self) -> set[str]:
        kind = _DIGITS.sub("0", self._path.name)
        try:
            names = {path.name for path in self._path.parent.iterdir()}
        except OSError:
            return set()
        return {name for name in names if _DIGITS.sub("0", name) == kind}
