"""A real terminal for a program under test: what it shows, and whether it was given back.

Understands what full screens here consist of: whole frames, each from the top left corner.
"""

import contextlib
import fcntl
import os
import re
import signal
import struct
import termios
import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.support.program import Program

_HOME = b"\x1b[H"
_ENTER, _LEAVE = b"\x1b[?1049h", b"\x1b[?1049l"
_HIDE, _SHOW = b"\x1b[?25l", b"\x1b[?25h"
_SEQUENCE = re.compile(rb"\x1b\[[0-9;?]*[a-zA-Z]")
_COLOUR = re.compile(rb"\x1b\[(?:[0-9;]*;)?(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])[;m]")


class Terminal:
    """A terminal of so many columns and rows, with the program that controls it."""

    def __init__(
        self, command: Sequence[str], columns: int, rows: int, env: dict[str, str]
    ) -> None:
        self._controller, its = os.openpty()
        self.resize(columns, rows, tell=False)
        self._before = termios.tcgetattr(its)
        self.written = bytearray()
        self.program = Program(
            ["setsid", "--ctty", *command],
            env={**os.environ, "TERM": "xterm-256color", **env},
            stdin=its,
            stdout=its,
            stderr=its,
        )
        self._its = its
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        with contextlib.suppress(OSError):  # closed
            while data := os.read(self._controller, 1 << 16):
                self.written += data

    def resize(self, columns: int, rows: int, *, tell: bool = True) -> None:
        """Give it another size, of which the kernel tells the programs in it."""
        self.columns, self.rows = columns, rows
        size = struct.pack("HHHH", rows, columns, 0, 0)
        fcntl.ioctl(self._controller, termios.TIOCSWINSZ, size)

    def press(self, keys: str) -> None:
        """Type."""
        os.write(self._controller, keys.encode())

    def frame(self) -> list[str]:
        """The rows of the last whole frame; none outside of a full screen."""
        written = bytes(self.written)
        if written.rfind(_LEAVE) > written.rfind(_ENTER):
            return []
        frames = written[written.rfind(_ENTER) :].split(_HOME)[1:]
        for frame in reversed(frames):
            rows = _SEQUENCE.sub(b"", frame).decode(errors="replace").split("\r\n")
            if len(rows) == self.rows:
                return rows
        return []

    @property
    def text(self) -> str:
        """The last whole frame."""
        return "\n".join(self.frame())

    @property
    def after(self) -> str:
        """What was written after the last full screen."""
        _, _, after = bytes(self.written).rpartition(_LEAVE)
        return _SEQUENCE.sub(b"", after).decode(errors="replace")

    @property
    def has_colours(self) -> bool:
        """Whether a colour was ever chosen."""
        return _COLOUR.search(self.written) is not None

    @property
    def is_given_back(self) -> bool:
        """Whether screen, cursor and keys are as they were before."""
        written = bytes(self.written)
        left = written.rfind(_LEAVE) > written.rfind(_ENTER)
        shown = written.rfind(_SHOW) > written.rfind(_HIDE)
        return left and shown and termios.tcgetattr(self._its) == self._before

    def children(self) -> list[int]:
        """The processes that the program has started."""
        pid = self.program.pid
        return [*map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]

    def hang_up(self) -> None:
        """Close it."""
        os.close(self._its)
        os.close(self._controller)
        self._its = self._controller = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the program, in order if it can."""
        if self.program.poll() is None:
            self.program.send_signal(signal.SIGKILL if error else signal.SIGINT)
            self.program.wait()
        for end in (self._its, self._controller):
            if end >= 0:
                os.close(end)
