"""Where a tool's output goes: results to standard output, the rest to standard error, by name."""

import contextlib
import sys

from dbdyno.peers.command_line import RefusalError


class Streams:
    """The standard streams, as the tool of this name writes to them.

    What is not read by anybody is no error on standard error: the run goes on.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def result(self, text: str) -> None:
        """Write a piece of the result, at once: harnesses follow it."""
        sys.stdout.write(text)
        sys.stdout.flush()

    def aside(self, text: str) -> None:
        """Write to standard error."""
        with contextlib.suppress(OSError):
            sys.stderr.write(text)
            sys.stderr.flush()

    def say(self, *lines: str) -> None:
        """Write lines to standard error, each after the tool's name."""
        self.aside("".join(f"{self._name}: {line}\n" for line in lines))

    def refuse(self, refusal: RefusalError) -> None:
        """Write why a command ends without its result."""
        self.say(*refusal.lines)
        self.aside(refusal.text)

    @property
    def is_in_terminal(self) -> bool:
        """Whether standard error is a terminal, whose last line can be replaced."""
        return sys.stderr.isatty()
