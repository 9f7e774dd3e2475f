"""A program that a test starts, and that does not outlive it.

``subprocess`` waits for a program when its block ends, also in a test that failed because the
program did not end: it would wait forever.
"""

import subprocess
from types import TracebackType
from typing import AnyStr


class Program(subprocess.Popen[AnyStr]):
    """Like ``Popen``; leaving its block by an error kills it."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Kill the program after an error, then wait for it."""
        if error is not None:
            self.kill()
        super().__exit__(kind, error, trace)
