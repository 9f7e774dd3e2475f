"""The process of the full screen: reads keys, messages of the run's process, and the run folder.

It has a low priority, and waits the longer for the next frame, the more one costs. It ends when
the run's process closes the pipe, or ends in whatever way: then the terminal is as before.
"""

import contextlib
import io
import os
import select
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import FrameType
from typing import NoReturn, TypeVar

import msgspec
from rich.console import Console, ConsoleDimensions, Group
from rich.live import Live
from rich.text import Text

from dbdyno.analysis.series.timeline import timeline
from dbdyno.cli.live_screen.keys import keys_of_terminal, pressed
from dbdyno.cli.live_screen.screen import Message
from dbdyno.cli.live_screen.view import Seen, drawn
from dbdyno.cli.pages import glyphs_of_locale
from dbdyno.explain.explain import explain
from dbdyno.explain.registry import all_rules
from dbdyno.model.run import Histograms, Run
from dbdyno.run.tools import engine_tools
from dbdyno.store.run import FollowedRun

Result = TypeVar("Result")
FRAME_S = 1.0
EXPLAIN_S = 10.0
COST_MAX = 0.02
"""Of a core, for the frames, and for the findings: what costs more is done more rarely."""
_LEAST_MEASURED_S = 5.0
_NICE = 10
"""It gives way to what is measured; with a lower priority no key would be answered meanwhile."""
_STYLES = {
    "title": "bold",
    "--blue": "blue",
    "--teal": "cyan",
    "--amber": "yellow",
    "--red": "red",
    "--grey": "bright_black",
    "--events": "bright_black",
    "--wait-cpu": "green",
    "--wait-cpu-queue": "yellow",
    "--wait-io": "blue",
    "--wait-wal": "cyan",
    "--wait-lwlock": "magenta",
    "--wait-lock": "red",
    "--wait-other-wait": "bright_black",
    "--wait-client-or-network": "white",
}
"""Of the terminal's own colours, which its user has chosen to be readable."""


class Viewer:
    """The state of the screen, and what changes it."""

    def __init__(self, what: str, parent: int, histograms: Histograms) -> None:
        self.seen = Seen(what)
        self._parent, self._histograms = parent, histograms
        self._followed: FollowedRun | None = None
        self._frame_due_s = self._explain_due_s = 0.0
        self._began: tuple[float, float] | None = None

    def take(self, message: Message) -> None:
        """Take a message of the run's process."""
        if message.say:
            self.seen.messages += message.say.splitlines()
        self.seen.loading = message.loading
        if message.folder:
            self._followed = FollowedRun(Path(message.folder))

    def interrupted(self) -> None:
        """Note that the user requested the end."""
        self.seen.is_stopping = True

    def press(self, key: str) -> None:
        """Take a key: ``q`` asks, and only ``y`` ends the run, as Ctrl-C does."""
        if self.seen.is_asking:
            self.seen.is_asking = False
            if key in "yY" and os.getppid() == self._parent:
                self.interrupted()
                os.kill(self._parent, signal.SIGINT)
        elif key in "qQ":
            self.seen.is_asking = True

    def show(self, now_s: float, paint: Callable[[], None], *, at_once: bool) -> None:
        """Paint a frame if one is due, with the run as far as it has come, or ``at_once``."""
        if now_s >= self._frame_due_s:
            _, spent_s = _timed(lambda: self._renew(paint))
            self._frame_due_s = now_s + max(FRAME_S, spent_s / COST_MAX)
            if self.seen.run is not None and now_s >= self._explain_due_s:
                self._explain(self.seen.run, now_s)
            self._note_cost(now_s)
        elif at_once:
            paint()

    def _renew(self, paint: Callable[[], None]) -> None:
        if self._followed is not None and self._followed.has_more():
            self.seen.run = self._followed.load(self._histograms)
        paint()

    def _explain(self, run: Run, now_s: float) -> None:
        """Look for findings: with a few seconds there is nothing yet to be found."""
        line = timeline(run)
        measured = line.phase == "measure"
        if float(line.seconds[measured].sum()) < _LEAST_MEASURED_S:
            return
        found, spent_s = _timed(lambda: explain(run))
        self._explain_due_s = now_s + max(EXPLAIN_S, spent_s / COST_MAX)
        self.seen.findings = found.findings
        self.seen.findings_until_s = float((line.time_s + line.seconds)[-1])

    def _note_cost(self, now_s: float) -> None:
        """From the first frame of the run: before it, nothing was measured that could suffer."""
        if self.seen.run is None:
            return
        spent_s = time.process_time()
        if self._began is None:
            self._began = now_s, spent_s
        elif (elapsed_s := now_s - self._began[0]) >= _LEAST_MEASURED_S:
            self.seen.cost = (spent_s - self._began[1]) / elapsed_s


def _timed(work: Callable[[], Result]) -> tuple[Result, float]:
    """Return a result, and the CPU time that it took."""
    begin_s = time.process_time()
    result = work()
    return result, time.process_time() - begin_s


def main(what: str, parent: int, pipe: int) -> None:
    """Show the run until its process closes the pipe."""
    os.nice(_NICE)
    warnings.simplefilter("ignore")  # what is left out of a run is said when it has ended
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="replace")
    viewer = Viewer(what, parent, engine_tools().histograms)
    console = Console(file=sys.stdout, highlight=False, markup=False, emoji=False)
    with (
        _woken_by_signals(viewer) as woken,
        keys_of_terminal() as keys,
        Live(console=console, screen=True, auto_refresh=False, redirect_stdout=False) as live,
    ):
        all_rules()  # imports them, before the load begins
        messages = _Messages(pipe)
        while messages.is_open:
            ready, _, _ = select.select([pipe, woken, *keys], [], [], FRAME_S / 4)
            if pipe in ready:
                for message in messages.read():
                    viewer.take(message)
            if woken in ready:
                os.read(woken, 4096)
            for terminal in set(keys) & set(ready):
                for key in pressed(terminal):
                    viewer.press(key)
            viewer.show(time.monotonic(), partial(_paint, live, viewer.seen), at_once=bool(ready))


class _Messages:
    """What the run's process sends, a line of JSON each."""

    def __init__(self, pipe: int) -> None:
        self._pipe, self._pending = pipe, b""
        self.is_open = True

    def read(self) -> Iterator[Message]:
        data = os.read(self._pipe, 1 << 16)
        self.is_open = bool(data)
        *lines, self._pending = (self._pending + data).split(b"\n")
        return (msgspec.json.decode(line, type=Message) for line in lines)


def _paint(live: Live, seen: Seen) -> None:
    size = os.get_terminal_size(sys.stdout.fileno())
    live.console.size = ConsoleDimensions(size.columns, size.lines)
    canvas = drawn(seen, size.columns, size.lines, glyphs_of_locale())
    rows = (
        Text.assemble(*((text, _STYLES.get(colour, "")) for text, colour in row), no_wrap=True)
        for row in canvas.runs()
    )
    live.update(Group(*rows), refresh=True)


@contextlib.contextmanager
def _woken_by_signals(viewer: Viewer) -> Iterator[int]:
    """Yield what becomes readable at a signal; Ctrl-C is for the run's process to obey."""
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGINT, lambda *_: viewer.interrupted())
    signal.signal(signal.SIGWINCH, lambda *_: None)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _leave)
    yield woken


def _leave(_signal: int, _frame: FrameType | None) -> NoReturn:
    raise SystemExit


if __name__ == "__main__":
    with contextlib.suppress(OSError, KeyboardInterrupt):  # the terminal was closed
        main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
