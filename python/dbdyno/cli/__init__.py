"""The command line: an interface to functions that are implemented elsewhere.

Text in; text, or one JSON object, out. ``start`` imports everything else itself: before that,
Ctrl-C could not be handled.
"""

import signal
from collections.abc import Sequence
from typing import NoReturn


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code."""
    from dbdyno.cli import app  # noqa: PLC0415

    return app.main(arguments)


def start() -> NoReturn:
    """Run the whole program. A Ctrl-C before it can be handled ends it silently."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from dbdyno.cli import app  # noqa: PLC0415

    app.start()
