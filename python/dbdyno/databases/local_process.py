"""Whether a process number that a server names is that process of this host.

Numbers are given anew on each host, and in each container that has its own: another process may
have the same here. It must have begun when the server says that its own did. And a process that is
visible from here, but has another number where it runs, is taken for one elsewhere: all the numbers
that its server names are those of its container.
"""

import os
import time
from pathlib import Path

_TICKS_S = os.sysconf("SC_CLK_TCK")


def is_in_our_numbering(pid: int) -> bool:
    """Whether the process exists here, and has no other number where it runs."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(errors="replace")
    except OSError:
        return False
    numbers = (line.split()[1:] for line in status.splitlines() if line.startswith("NSpid:"))
    return len(next(numbers, [str(pid)])) == 1


def age_s(pid: int) -> float | None:
    """How long ago the process began; None if there is none."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return time.clock_gettime(time.CLOCK_BOOTTIME) - int(fields[19]) / _TICKS_S


def is_of_age(pid: int, server_says_s: float, tolerance_s: float) -> bool:
    """Whether the process is one of our numbering that began so long ago."""
    here_s = age_s(pid)
    return (
        here_s is not None
        and abs(here_s - server_says_s) <= tolerance_s
        and is_in_our_numbering(pid)
    )
