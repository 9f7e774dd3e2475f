"""The command line: a face over calls that stand elsewhere.

Text in; text, or one JSON object, out. All else is imported by ``start`` itself: until then
nobody could answer Ctrl-C.
"""

import signal
from collections.abc import Sequence
from typing import NoReturn


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; its exit code."""
    from dbdyno.cli import app  # noqa: PLC0415

    return app.main(arguments)


def start() -> NoReturn:
    """The whole program. A Ctrl-C before it can answer one ends it without a word."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from dbdyno.cli import app  # noqa: PLC0415

    app.start()
