"""Reading the kernel's small text files: a file that is absent is an answer, not an error."""

import os
import re
from pathlib import Path

# More than any file of one process holds, but for its memory maps.
_SHORT = 16_384
_PIECE = 65_536


def text(path: Path | str) -> str | None:
    """The file's text without blanks at its ends; None when it cannot be read.

    What is read each second is named by a string: to put a Path together takes longer than to read.
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
    """The content of a short file; raises OSError.

    Twice as fast as by way of a Path, which counts where many processes are read each second.
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return os.read(descriptor, _SHORT)
    finally:
        os.close(descriptor)


def names(folder: str) -> list[str]:
    """The names in a folder; empty when it cannot be read. As fast, for the same reason."""
    try:
        return os.listdir(folder)  # noqa: PTH208 - a Path for each of ten thousand is dear
    except OSError:
        return []


def number(path: Path | str) -> int | None:
    """The file's whole number; None when there is none."""
    content = text(path)
    return int(content) if content and re.fullmatch(r"-?\d+", content) else None


def ranges(content: str) -> int:
    """How many numbers a kernel list such as ``0-3,8`` names."""
    total = 0
    for part in filter(None, content.split(",")):
        first, _, last = part.partition("-")
        total += int(last or first) - int(first) + 1
    return total


def keyed(content: str) -> dict[str, str]:
    """Lines of ``key: value`` as ``/proc/meminfo`` has them; the first of a key wins."""
    pairs: dict[str, str] = {}
    for line in content.splitlines():
        key, colon, value = line.partition(":")
        if colon:
            pairs.setdefault(key.strip(), value.strip())
    return pairs
