"""Reads the kernel's small text files: a missing file is an answer, not an error."""

import os
import re
from pathlib import Path

# Larger than any file of one process, except its memory maps.
_SHORT = 16_384
_PIECE = 65_536


def text(path: Path | str) -> str | None:
    """Return the file's text, stripped; None if it cannot be read.

    Files that are read every second are named by strings: building a Path takes longer than
    reading.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return None
    try:
        pieces = iter(lambda: os.read(descriptor, _PIECE), b"")
        return b"".join(pieces).decode(errors="replace").strip()
    except OSError:
        return None
    finally:
        os.close(descriptor)


def short(path: str) -> bytes:
    """Return the content of a short file; raise OSError if it cannot be read.

    Twice as fast as with a Path, which matters if many processes are read every second.
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return os.read(descriptor, _SHORT)
    finally:
        os.close(descriptor)


def names(folder: str) -> list[str]:
    """Return the names in a folder; empty if it cannot be read. As fast, for the same reason."""
    try:
        return os.listdir(folder)  # noqa: PTH208 - ten thousand Path objects are expensive
    except OSError:
        return []


def number(path: Path | str) -> int | None:
    """Return the integer in the file; None if there is none."""
    content = text(path)
    return int(content) if content and re.fullmatch(r"-?\d+", content) else None


def ranges(content: str) -> int:
    """Return how many numbers are in a kernel list such as ``0-3,8``."""
    total = 0
    for part in filter(None, content.split(",")):
        first, _, last = part.partition("-")
        total += int(last or first) - int(first) + 1
    return total


def keyed(content: str) -> dict[str, str]:
    """Parse lines of ``key: value`` as in ``/proc/meminfo``; the first of a key counts."""
    pairs: dict[str, str] = {}
    for line in content.splitlines():
        key, colon, value = line.partition(":")
        if colon:
            pairs.setdefault(key.strip(), value.strip())
    return pairs
