"""What a reader does: it takes the lines of its tool, and hands over the runs that ended."""

from typing import Protocol

from dbdyno.imports.imported_run import ImportedRun
from dbdyno.imports.text import Line


class Reader(Protocol):
    """Reads the output of one tool."""

    def take(self, line: Line) -> bool:
        """Return whether the line is of its tool. Its text is plain."""

    def finish(self) -> None:
        """End the run that is being read."""

    runs: list[ImportedRun]
    """Those that have ended, in their order."""
    notes: list[str]
    """What was left out, and why, each a sentence."""
