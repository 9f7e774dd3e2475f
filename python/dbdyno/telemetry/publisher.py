"""Publishes the frames of telemetry's threads to the run folder, and each error once.

Telemetry never ends a run, so nothing here raises: an error becomes a frame that names what is
missing, and a line in the log. What the run folder does not take is dropped, and nothing else; once
the run is over, everything is.
"""

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeVar

import msgspec

from dbdyno.model.telemetry import Lack, TelemetryFrame, fit_frame

SERVER = "server"

Value = TypeVar("Value")
_DECODER = msgspec.msgpack.Decoder(TelemetryFrame)


class FramePublisher:
    """Takes frames from any thread; buffers them until the load has begun.

    A reader of the run folder needs the engine's frame of the start to interpret the times in all
    others.
    """

    def __init__(self, keep: Callable[[Sequence[bytes]], None], log: Callable[[str], None]) -> None:
        self._keep = keep
        self._log = log
        self._lock = threading.Lock()
        self._held: list[bytes] | None = []
        self._lacks: set[tuple[str, str]] = set()
        self._is_closed = False

    def publish(self, *frames: TelemetryFrame) -> None:
        """Keep frames: several at once take little longer than one."""
        packed = [one for frame in frames for one in self._packed(frame)]
        with self._lock:
            if self._held is not None:
                self._held += packed
            else:
                self._write(packed)

    def _packed(self, frame: TelemetryFrame) -> list[bytes]:
        """Return the frame as every reader will accept it; report the values that it loses."""
        try:
            packed = msgspec.msgpack.encode(frame)
            _DECODER.decode(packed)
        except Exception:  # whatever a server may return
            return self._packed_as_far_as_it_fits(frame)
        return [packed]

    def _packed_as_far_as_it_fits(self, frame: TelemetryFrame) -> list[bytes]:
        packed = []
        with suppress(Exception):  # then nothing of it can be kept
            for one in fit_frame(msgspec.to_builtins(frame, enc_hook=repr)):
                if isinstance(one, Lack):
                    self.publish_lack(one.source, one.reason)
                else:
                    packed.append(msgspec.msgpack.encode(one))
        return packed

    def publish_lack(self, source: str, reason: str) -> None:
        """Report that a source cannot be read, once for each reason."""
        if (source, reason) in self._lacks:
            return
        self._lacks.add((source, reason))
        self.publish(Lack(time.monotonic_ns(), source, reason))
        self.deliver(self._log, f"telemetry: {source}: {reason}")

    def publish_unavailable(self, reason: str) -> None:
        """Report that the server is unavailable, once for each reason; nothing without one."""
        if reason:
            self.publish_lack(SERVER, reason)

    def deliver(self, take: Callable[[Value], None], value: Value) -> None:
        """Pass a value to the run folder, as long as the folder accepts any."""
        with self._lock:
            self._deliver(take, value)

    def begin(self) -> None:
        """The load has begun: write the frames buffered so far."""
        with self._lock:
            held, self._held = self._held or [], None
            self._write(held)

    def _write(self, packed: Sequence[bytes]) -> None:
        if packed:
            self._deliver(self._keep, packed)

    def _deliver(self, take: Callable[[Value], None], value: Value) -> None:
        if self._is_closed:
            return
        with suppress(Exception):  # a full disk, for example: the engine's next frame reports it
            take(value)

    def close(self) -> None:
        """Note that the run folder accepts no more frames."""
        with self._lock:
            self._is_closed = True


def error_line(error: BaseException) -> str:
    """Return the first line of an error's message, or its type if it has no message."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
