"""The command line: an interface to functions that are implemented elsewhere.

Text in; text, or one JSON object, out. ``start`` imports everything else itself: before that,
Ctrl-C could not be handled.
"""

import os
import signal
import sys
from collections.abc import Sequence
from typing import NoReturn


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code."""
    from dbdyno.cli import program  # noqa: PLC0415

    return program.main(arguments)


def start() -> NoReturn:
    """Run the whole program. A Ctrl-C before it can be handled ends it silently."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    _replace_closed_streams()
    from dbdyno.cli import program  # noqa: PLC0415

    program.start()


def _replace_closed_streams() -> None:
    """Connect standard streams that the caller has closed to /dev/null, for child processes, too.

    Python has None for them, and the next file to be opened would get their descriptor.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            stream = open(os.devnull, mode, encoding="utf-8")  # noqa: PTH123, SIM115 - stays open
            os.set_inheritable(stream.fileno(), True)
            setattr(sys, name, stream)
