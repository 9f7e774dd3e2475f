"""A program that a test starts, and that does not outlive it.

``subprocess`` waits for a program when its block is left, also by a test that failed because the
program did not end: forever, then.
"""

import subprocess
from types import TracebackType
from typing import AnyStr


class Program(subprocess.Popen[AnyStr]):
    """As ``Popen``; leaving its block by an error ends it."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Waits for it, once nothing else is to be hoped for."""
        if error is not None:
            self.kill()
        super().__exit__(kind, error, trace)
