"""How telemetry's threads say what they saw: frames for the run folder, troubles once.

Telemetry never ends a run. So nothing here raises: a trouble becomes a frame that says what
is lacking, and a line of the log; and once the run is over nobody listens any more.
"""

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import msgspec

from dbdyno.model.telemetry import Lack, TelemetryFrame

SERVER = "server"

Said = TypeVar("Said")


class Teller:
    """Takes frames from any thread; holds them until the load has begun.

    A reader of the run folder learns from the engine's frame of the beginning what the
    instants of all others mean.
    """

    def __init__(self, keep: Callable[[Sequence[bytes]], None], log: Callable[[str], None]) -> None:
        self._keep = keep
        self._log = log
        self._lock = threading.Lock()
        self._held: list[TelemetryFrame] | None = []
        self._lacks: set[tuple[str, str]] = set()
        self._is_closed = False

    def tell(self, *frames: TelemetryFrame) -> None:
        """Keep frames: several at once take little longer than one."""
        with self._lock:
            if self._held is not None:
                self._held += frames
            else:
                self._write(frames)

    def lack(self, source: str, reason: str) -> None:
        """Say that something cannot be read, the first time that it is so for this reason."""
        if (source, reason) in self._lacks:
            return
        self._lacks.add((source, reason))
        self.tell(Lack(time.monotonic_ns(), source, reason))
        self.pass_on(self._log, f"telemetry: {source}: {reason}")

    def gone(self, reason: str) -> None:
        """Say that the server is not there, for this reason; nothing where there is no new one."""
        if reason:
            self.lack(SERVER, reason)

    def pass_on(self, take: Callable[[Said], None], said: Said) -> None:
        """Give it to what the run folder has for it, as long as that takes anything."""
        with self._lock:
            self._pass_on(take, said)

    def begin(self) -> None:
        """The load has begun: what was held is kept."""
        with self._lock:
            held, self._held = self._held or [], None
            self._write(held)

    def _write(self, frames: Iterable[TelemetryFrame]) -> None:
        encoded = [msgspec.msgpack.encode(frame) for frame in frames]
        if encoded:
            self._pass_on(self._keep, encoded)

    def _pass_on(self, take: Callable[[Said], None], said: Said) -> None:
        if self._is_closed:
            return
        try:
            take(said)
        except Exception:
            self._is_closed = True  # a full disk, say: the next frame of the engine tells

    def close(self) -> None:
        """The run folder takes no more."""
        with self._lock:
            self._is_closed = True


def told(error: BaseException) -> str:
    """An error in a line; its kind where it says nothing of itself."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
