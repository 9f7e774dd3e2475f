"""Reading the kernel's small text files: a file that is absent is an answer, not an error."""

import re
from pathlib import Path


def text(path: Path) -> str | None:
    """The file's text without blanks at its ends; None when it cannot be read."""
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return None


def number(path: Path) -> int | None:
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
