"""Keys of the controlling terminal, one by one and not shown, until it is given back."""

import contextlib
import os
import termios
import tty
from collections.abc import Iterator, Sequence


@contextlib.contextmanager
def keys_of_terminal() -> Iterator[Sequence[int]]:
    """Yield the terminal as it gives each key at once; nothing if there is none to control it.

    Ctrl-C remains a signal. Ctrl-Z does nothing: a run that stands still measures nothing.
    """
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        yield ()
        return
    before = termios.tcgetattr(terminal)
    now = termios.tcgetattr(terminal)
    now[tty.LFLAG] &= ~(termios.ECHO | termios.ICANON)
    now[tty.CC][termios.VMIN], now[tty.CC][termios.VTIME] = 1, 0
    now[tty.CC][termios.VSUSP] = b"\0"
    try:
        termios.tcsetattr(terminal, termios.TCSANOW, now)
        yield (terminal,)
    finally:
        with contextlib.suppress(termios.error):  # a closed terminal has nothing to restore
            termios.tcsetattr(terminal, termios.TCSAFLUSH, before)


def pressed(terminal: int) -> str:
    """The keys; a sequence, as of an arrow, is none of them."""
    data = os.read(terminal, 64)
    if not data:
        raise SystemExit  # the terminal was closed
    return "" if data.startswith(b"\x1b") else data.decode(errors="replace")
