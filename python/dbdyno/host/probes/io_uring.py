"""Whether io_uring can be used here.

It is tried out, since containers often forbid it by a filter that no file shows.
"""

import ctypes
import errno
import os
from pathlib import Path

from dbdyno.host import files
from dbdyno.host.doctor import ProbeResult, probe

# The same on every Linux architecture, as all system calls since 4.20 are.
_IO_URING_SETUP = 425
_PARAMETERS_BYTES = 120


def try_setup() -> int:
    """Set up a small ring and close it; return 0 or the error number."""
    library = ctypes.CDLL(None, use_errno=True)
    parameters = ctypes.create_string_buffer(_PARAMETERS_BYTES)
    descriptor = library.syscall(_IO_URING_SETUP, 8, parameters)
    if descriptor < 0:
        return ctypes.get_errno()
    os.close(descriptor)
    return 0


def judge(refusal: int, disabled: int | None) -> ProbeResult:
    """Judge the result, given ``kernel.io_uring_disabled``."""
    if refusal == 0:
        return ProbeResult(level="ok", found="works")
    if refusal == errno.ENOSYS:
        return ProbeResult(
            level="note",
            found="not available in this kernel",
            remedy="Nothing to do: epoll is used. Linux 6.1 or newer has io_uring.",
        )
    if disabled:
        return ProbeResult(
            level="note",
            found=f"forbidden by kernel.io_uring_disabled = {disabled}",
            remedy="As root: sysctl kernel.io_uring_disabled=0; until then epoll is used.",
        )
    return ProbeResult(
        level="note",
        found=f"refused ({os.strerror(refusal)}), probably by a container's seccomp filter",
        remedy="Run the container with a seccomp profile that allows io_uring_setup, "
        "io_uring_enter and io_uring_register; until then epoll is used.",
    )


@probe(
    "io_uring",
    meaning="Sends and receives for many clients with fewer system calls; without it the engine "
    "uses epoll, which costs somewhat more CPU time per transaction.",
)
def io_uring(root: Path) -> ProbeResult:
    """Try to set up a ring."""
    return judge(try_setup(), files.number(root / "proc/sys/kernel/io_uring_disabled"))
