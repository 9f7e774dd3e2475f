"""A terminal line that is updated in place while something lasts, and lines that stay.

Callers decide what to write to a pipe instead.
"""

import contextlib
import sys
from typing import IO

from dbdyno.cli.output import screen

WIDTH = 80
"""Width of a line in a pipe, if it is fitted to a width at all."""


class StatusLine:
    """The status line of one stream; nothing fails if nobody reads it."""

    def __init__(self, stream: IO[str] | None = None) -> None:
        self._stream = stream or sys.stderr
        columns = screen(self._stream)
        self.is_in_terminal = columns is not None
        self.room = (columns or WIDTH) - 1
        """A line that wraps into the next cannot be erased."""
        self._is_open = False

    def renew(self, text: str) -> None:
        """Replace the text by another of at most ``room`` characters."""
        self._write(f"\r{text}\x1b[K")
        self._is_open = True

    def stay(self, text: str) -> None:
        """Write a text that stays; the present text stays, too."""
        self.close()
        self._write(f"{text}\n")

    def take_back(self) -> None:
        """Erase the present text."""
        if self._is_open:
            self._write("\r\x1b[K")
            self._is_open = False

    def close(self) -> None:
        """Keep the present text."""
        if self._is_open:
            self._write("\n")
            self._is_open = False

    def _write(self, text: str) -> None:
        # A terminal may be closed during an operation, which nevertheless continues to its end.
        with contextlib.suppress(OSError):
            self._stream.write(text)
            self._stream.flush()
