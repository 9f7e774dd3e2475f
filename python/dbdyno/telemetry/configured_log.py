"""A log whose path is configured: the user named it, or dbdyno made it.

A server that is asked says which file it writes now. Here it is not asked: a new file beside it
whose name differs only in digits is reported as a lack. It is not read, as it may be another
server's.
"""

import re
from pathlib import Path

from dbdyno.telemetry.publisher import FramePublisher

_DIGITS = re.compile(r"\d+")


class ConfiguredLog:
    """A file, and those beside it that are named like it."""

    def __init__(self, path: Path, source: str, publisher: FramePublisher) -> None:
        self._path = path
        self._source = source
        self._publisher = publisher
        self._known = self._namesakes()

    def find(self) -> Path:
        """The file; a new one like it is reported, once."""
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
