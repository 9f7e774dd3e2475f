"""The run's side of the full screen: starts its process, tells it what happens, ends it.

Whatever becomes of that process, the run goes on, with progress lines instead, and the terminal is
as it was before. What was said while the screen was open is printed when it is closed.
"""

import contextlib
import io
import os
import subprocess
import sys
import termios
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec
from msgspec import Struct

from dbdyno.cli.progress import ProgressLines, loading_text
from dbdyno.errors import DbdynoError
from dbdyno.model.frame import Interval, Started
from dbdyno.model.plan import Plan
from dbdyno.run.observer import Observer
from dbdyno.workloads.loading import LoadProgress

_LEAVE = "\x1b[?1049l\x1b[?25h\x1b[0m"
"""The terminal's ordinary screen, with its cursor and colours."""
_PATIENCE_S = 5.0


class Message(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the process of the screen is told: one of these."""

    say: str = ""
    loading: str = ""
    folder: str = ""
    """The run folder, once it is there."""


class LiveScreen(Observer):
    """An observer with a screen; a context manager that closes it. ``what`` is its title.

    ``lines`` are told the same: they are shown if the screen's process ends before the run.
    """

    def __init__(self, what: str, lines: ProgressLines) -> None:
        refuse_no_terminal()
        self._lines = lines
        self._said: list[str] = []
        self._terminal = sys.stdout.fileno()
        self._before = termios.tcgetattr(self._terminal)
        theirs, self._pipe = os.pipe()
        os.set_blocking(self._pipe, False)
        command = [sys.executable, "-m", "dbdyno.cli.live_screen.viewer", what]
        self._viewer: subprocess.Popen[bytes] | None = subprocess.Popen(
            [*command, str(os.getpid()), str(theirs)], pass_fds=[theirs]
        )
        os.close(theirs)

    def say(self, text: str) -> None:
        """Show the line, and print it when the screen is closed."""
        if self._send(Message(say=text)):
            self._said.append(text)
        else:
            self._lines.say(text)

    def loading(self, progress: LoadProgress) -> None:
        """Show the progress."""
        if not self._send(Message(loading=loading_text(progress))):
            self._lines.loading(progress)

    def recorded(self, folder: Path) -> None:
        """Let the screen read the folder."""
        self._send(Message(folder=str(folder)))

    def started(self, plan: Plan, started: Started) -> None:
        """Let the lines know when the run is to end."""
        self._lines.started(plan, started)

    def interval(self, interval: Interval) -> None:
        """Nothing is sent: the screen reads the folder."""
        if not self._is_shown():
            self._lines.interval(interval)

    def _send(self, message: Message) -> bool:
        """Return whether there is a screen that shows it."""
        if not self._is_shown():
            return False
        # A process that is behind by a whole pipe of messages misses some.
        with contextlib.suppress(OSError):
            os.write(self._pipe, msgspec.json.encode(message) + b"\n")
        return True

    def _is_shown(self) -> bool:
        if self._viewer is not None and self._viewer.poll() is not None:
            self._end(self._viewer)
            self._lines.say("the full screen has ended; the run continues")
        return self._viewer is not None

    def _end(self, viewer: subprocess.Popen[bytes]) -> None:
        """End the process, restore the terminal if it did not, and print what was said."""
        os.close(self._pipe)
        try:
            viewer.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            viewer.kill()
            viewer.wait()
        if viewer.returncode != 0:
            with contextlib.suppress(OSError, termios.error):
                os.write(self._terminal, _LEAVE.encode())
                termios.tcsetattr(self._terminal, termios.TCSADRAIN, self._before)
        self._viewer = None
        for text in self._said:
            self._lines.say(text)

    def __enter__(self) -> Self:
        """Show on the screen what the program prints to standard error, too."""
        self._redirected = contextlib.redirect_stderr(_Said(self.say))
        self._redirected.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the screen, and keep the last line."""
        self._redirected.__exit__(kind, error, traceback)
        if self._viewer is not None:
            self._end(self._viewer)
        self._lines.close()


class _Said(io.TextIOBase):
    """A stream whose lines are said."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say

    def write(self, text: str) -> int:
        """Say each line."""
        for line in text.splitlines():
            if line.strip():
                self._say(line)
        return len(text)


def refuse_no_terminal() -> None:
    """Raise an error if there is nothing to draw a screen on."""
    if not sys.stdout.isatty():
        raise DbdynoError(
            "usage",
            "--tui needs a terminal: standard output is a pipe or a file",
            "Leave it out: progress lines are written to standard error.",
        )
    if (kind := os.environ.get("TERM", "")) in ("", "dumb", "unknown"):
        raise DbdynoError(
            "usage",
            f"--tui needs a terminal that can move its cursor; TERM is {kind or 'not set'}",
            "Leave it out, or set TERM to what the terminal is, such as xterm-256color.",
        )
