"""Ends what would wait for ever: for an engine that has fallen silent, or a server that is gone.

An engine sends a frame every interval; one that sends none is ended. A server that does not answer
a load is handled by the engine itself. While data is prepared, a server may be silent for as long
as a vacuum or an index takes, and one that has stopped for good is as silent: after a while another
connection is opened, which a working server accepts, or reports why not.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType

from dbdyno.databases.connection import Connection, hang_up
from dbdyno.errors import DbdynoError
from dbdyno.watch import Watch
from dbdyno.workloads.loading import LoadProgress

SILENCE_MAX_S = 10.0


class Watchdog(Watch):
    """Calls ``on_silence`` once, from its own thread, when no sign of life came within the limit.

    It counts its own naps, each of which lasts at least as long as it should: while this whole
    process is stopped (Ctrl-Z) or short of CPU time, it cannot receive a sign of life, either.
    """

    def __init__(
        self,
        on_silence: Callable[[], None],
        limit_s: float,
        sleep: Callable[[threading.Event, float], bool] = threading.Event.wait,
    ) -> None:
        super().__init__()
        self._on_silence = on_silence
        self._limit_s = limit_s
        self._sleep = sleep
        self._signs = 0
        self._is_listening = True
        self.has_fired = False

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Note a sign of life; silence does not count while the block processes it."""
        self._signs += 1
        self._is_listening = False
        try:
            yield
        finally:
            self._is_listening = True

    def allow(self, limit_s: float) -> None:
        """Set the limit for the next sign of life and all further ones."""
        self._limit_s = limit_s

    def _watch(self) -> None:
        signs, silent_s = self._signs, 0.0
        while not self._sleep(self._over, sleep_s := min(self._limit_s / 4, 1.0)):
            is_silent = self._is_listening and signs == self._signs
            signs, silent_s = self._signs, silent_s + sleep_s if is_silent else 0.0
            if silent_s >= self._limit_s:
                self.has_fired = True
                self._on_silence()
                return

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop watching; afterwards it no longer fires."""
        super().__exit__(kind, error, trace)
        self._thread.join()


class Presence(Watch):
    """Ends what waits for the server within the block once the server no longer answers.

    This concerns queries on the control connection, and code that reports the progress of a load
    through ``loading``.
    """

    def __init__(
        self,
        connect: Callable[[], Connection],
        control: Connection,
        silence_max_s: float = SILENCE_MAX_S,
    ) -> None:
        super().__init__()
        self._connect = connect
        self._control = control
        self._silence_max_s = silence_max_s
        self._last_progress_s = time.monotonic()
        self._rows = 0
        self._absence: DbdynoError | None = None

    def loading(self, progress: LoadProgress) -> None:
        """Note the progress of a load: the server has accepted these rows."""
        if self._absence is not None:
            raise self._absence
        if progress.rows != self._rows:
            self._rows = progress.rows
            self._last_progress_s = time.monotonic()

    def _watch(self) -> None:
        while self._absence is None and not self._over.wait(self._silence_max_s / 10):
            if time.monotonic() - self._last_progress_s > self._silence_max_s:
                self._knock()

    def _knock(self) -> None:
        """Open another connection: any reply, even "too many connections", is a sign of life."""
        try:
            self._connect().close()
        except DbdynoError as error:
            if error.code == "unreachable" and not self._over.is_set():
                self._absence = _absence(error)
                hang_up(self._control)
        self._last_progress_s = time.monotonic()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop watching, without waiting for a last answer; raise what broke the connection."""
        super().__exit__(kind, error, trace)
        if self._absence is not None and isinstance(error, DbdynoError):
            raise self._absence


def _absence(error: DbdynoError) -> DbdynoError:
    return DbdynoError(
        "server_silent",
        f"the server stopped responding while its data was being prepared ({error.message})",
        "Check whether it is still running, and its log. Partly loaded tables are marked: "
        "--replace loads them again.",
    )
