"""The raw frames of a run in progress: ``frames.bin``.

One zlib stream, flushed to a byte boundary after each group of frames, so that what was written
before a crash can be read back. Inside it, each frame is a little-endian u32 length and that many
bytes of MessagePack, as it came from the engine or from telemetry. One stream rather than one per
frame halves the file, because frames resemble each other. The file is never repaired: a reader
reads the whole frames and stops at the first incomplete one.
"""

import os
import struct
import threading
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import msgspec

from dbdyno.model.frame import Frame
from dbdyno.model.telemetry import TelemetryFrame, fit_frame
from dbdyno.store.errors import StoreError

FRAMES = "frames.bin"
_LENGTH = struct.Struct("<I")
_READ_BYTES = 1 << 16
# At level 6, an eight-hour run is 1% larger and comes within 1% of its limit of 150 MiB.
_LEVEL = 7
_DECODER = msgspec.msgpack.Decoder(Frame | TelemetryFrame)


class FrameAppender:
    """Appends frames, from any thread.

    They have been written to the kernel when :meth:`append` returns. After a failed write no reader
    could make sense of what follows in the stream, so every later call fails as that one did.
    """

    def __init__(self, path: Path) -> None:
        self._file = path.open("xb", buffering=0)
        self._deflate = zlib.compressobj(_LEVEL)
        self._lock = threading.Lock()
        self._failure: OSError | None = None

    def append(self, frames: Sequence[bytes]) -> None:
        """Append frames, without their lengths; several at once take little longer than one."""
        content = b"".join(_LENGTH.pack(len(frame)) + frame for frame in frames)
        with self._lock:
            if self._failure is not None:
                raise self._failure
            packed = self._deflate.compress(content)
            try:
                self._write(packed + self._deflate.flush(zlib.Z_SYNC_FLUSH))
            except OSError as error:
                self._failure = error
                raise

    def _write(self, content: bytes) -> None:
        """Write all of it: a file on a full disk accepts a part before it refuses the rest."""
        view = memoryview(content)
        while view:
            view = view[self._file.write(view) :]

    def close(self) -> None:
        """Sync everything to disk and close the file."""
        if not self._file.closed:
            with self._file:
                os.fsync(self._file.fileno())


class FramesReader:
    """Reads frames; each :meth:`read` goes on where the last one ended, also while they come.

    The file may be removed meanwhile: what was in it is read to its end.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = path.open("rb", buffering=0)
        self._inflate = zlib.decompressobj()
        self._is_damaged = False
        self._pending = bytearray()
        self._number = 0

    def read(self) -> Iterator[Frame | TelemetryFrame]:
        """Yield the frames that were written whole since the last time."""
        for packed in self._messages():
            try:
                yield _DECODER.decode(packed)
            except msgspec.MsgspecError as error:
                try:
                    yield from fit_frame(msgspec.msgpack.decode(packed, type=dict[str, Any]))
                except (msgspec.MsgspecError, KeyError):
                    raise StoreError(
                        "damaged",
                        f"Frame {self._number} of {self.path} is not in this version's format: "
                        f"{error}",
                    ) from error
            self._number += 1

    def has_more(self) -> bool:
        """Whether the file has grown beyond what was read."""
        return os.fstat(self._file.fileno()).st_size > self._file.tell()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _messages(self) -> Iterator[bytes]:
        pending = self._pending
        for part in self._inflated():
            pending += part
            begin = 0
            while len(pending) - begin >= _LENGTH.size:
                (length,) = _LENGTH.unpack_from(pending, begin)
                end = begin + _LENGTH.size + length
                if end > len(pending):
                    break
                yield bytes(pending[begin + _LENGTH.size : end])
                begin = end
            del pending[:begin]

    def _inflated(self) -> Iterator[bytes]:
        while not self._is_damaged and (packed := self._file.read(_READ_BYTES)):
            before = self._inflate.copy()
            try:
                yield self._inflate.decompress(packed)
            except zlib.error:
                self._is_damaged = True
                # What precedes the damage left by a crash, such as zeros after a power failure.
                with suppress(zlib.error):
                    for octet in range(len(packed)):
                        yield before.decompress(packed[octet : octet + 1])


def read_frames(path: Path) -> Iterator[Frame | TelemetryFrame]:
    """Yield the frames that were written whole; also works while the run is in progress."""
    with closing(FramesReader(path)) as reader:
        yield from reader.read()
