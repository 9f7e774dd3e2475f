"""The line of a terminal that renews itself while something lasts, and the lines that stay.

Who writes them decides what a pipe is told instead.
"""

import contextlib
import sys
from typing import IO

from dbdyno.cli.output import screen

WIDTH = 80
"""Columns of a line in a pipe, as far as anything is fitted to them there."""


class StatusLine:
    """One stream's; nothing is lost where nobody reads it."""

    def __init__(self, stream: IO[str] | None = None) -> None:
        self._stream = stream or sys.stderr
        columns = screen(self._stream)
        self.is_in_terminal = columns is not None
        self.room = (columns or WIDTH) - 1
        """A line that reaches into the next cannot be taken back."""
        self._is_open = False

    def renew(self, text: str) -> None:
        """Puts a text of no more than ``room`` in the place of the one before."""
        self._write(f"\r{text}\x1b[K")
        self._is_open = True

    def stay(self, text: str) -> None:
        """Writes what stays; the text that stood there last does, too."""
        self.close()
        self._write(f"{text}\n")

    def take_back(self) -> None:
        """Leaves nothing of the text that stands there."""
        if self._is_open:
            self._write("\r\x1b[K")
            self._is_open = False

    def close(self) -> None:
        """Leaves the last text standing."""
        if self._is_open:
            self._write("\n")
            self._is_open = False

    def _write(self, text: str) -> None:
        # A terminal may be closed under what lasts, which goes on to its end all the same.
        with contextlib.suppress(OSError):
            self._stream.write(text)
            self._stream.flush()
