"""A log file that the user or dbdyno itself named: the server is not queried for the current file.

If a new file appears beside it whose name differs only in its digits, that is reported as something
that may be missing. It is not read, since it may be another server's log.
"""

import re
from pathlib import Path

from dbdyno.telemetry.publisher import FramePublisher

_DIGITS = re.compile(r"\d+")


class ConfiguredLog:
    """A log file, and the files beside it with similar names."""

    def __init__(self, path: Path, source: str, publisher: FramePublisher) -> None:
        self._path = path
        self._source = source
        self._publisher = publisher
        self._known = self._namesakes()

    def find(self) -> Path:
        """Return the file; report each new file with a similar name, once."""
        new = self._namesakes() - self._known
        self._known |= new
        for name in sorted(new):
            self._publisher.publish_lack(
                self._source,
                f"the server may now write to {name}, which is not read: lines may be missing",
            )
        return self._path

    def _namesakes(self) -> set[str]:
        kind = _without_digits(self._path.name)
        try:
            names = {path.name for path in self._path.parent.iterdir()}
        except OSError:
            return set()
        return {name for name in names if _without_digits(name) == kind}


def _without_digits(name: str) -> str:
    return _DIGITS.sub("0", name)
