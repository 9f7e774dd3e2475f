"""Detects a server that disappears while its data is prepared, when it may be silent for long.

A server that vacuums or builds an index is silent for as long as that takes, and so is one that has
stopped for good. After a while of silence, another connection is therefore opened: a working server
accepts it, or reports why not. During the load, the engine itself handles a server that stops; this
module is for the time before.
"""

import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from dbdyno.errors import DbdynoError
from dbdyno.targets.connection import Connection, hang_up
from dbdyno.workloads.loading import LoadProgress

SILENCE_MAX_S = 10.0


class Presence:
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
        self._connect = connect
        self._control = control
        self._silence_max_s = silence_max_s
        self._last_progress_s = time.monotonic()
        self._rows = 0
        self._absence: DbdynoError | None = None
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="presence", daemon=True)

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

    def __enter__(self) -> Self:
        """Start watching."""
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop watching, without waiting for a last answer; raise what broke the connection."""
        self._over.set()
        if self._absence is not None and isinstance(error, DbdynoError):
            raise self._absence


def _absence(error: DbdynoError) -> DbdynoError:
    return DbdynoError(
        "server_silent",
        f"the server stopped responding while its data was being prepared ({error.message})",
        "Check whether it is still running, and its log. Partly loaded tables are marked: "
        "--replace loads them again.",
    )
