"""Identifies processes for good: a PID is reused; with start time and boot ID it is unique."""

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

from msgspec import Struct


class ProcessMark(Struct, frozen=True):
    """The identity of one process."""

    pid: int
    start_ticks: int
    boot_id: str


def mark_of(pid: int) -> ProcessMark:
    """Return the mark of a running process."""
    return ProcessMark(pid=pid, start_ticks=int(_stat(pid)[19]), boot_id=_boot_id())


def is_running(mark: ProcessMark) -> bool:
    """Whether this very process is still running (a zombie is not)."""
    try:
        fields = _stat(mark.pid)
    except OSError:
        return False
    return fields[0] != "Z" and int(fields[19]) == mark.start_ticks and _boot_id() == mark.boot_id


def children_of(pid: int) -> list[int]:
    """Return the processes that this one has started and that have not ended."""
    found: list[int] = []
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):  # a thread that has just ended
            found += map(int, children.read_text().split())
    return found


def outwait_group(group: int, patience_s: float) -> None:
    """Wait until all processes of a group have ended by themselves; then kill those that remain."""
    deadline = time.monotonic() + patience_s
    while left := _members(group):
        if time.monotonic() > deadline:
            for process in left:
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
        time.sleep(0.02)


def _members(group: int) -> list[int]:
    """Return the processes of a group, without zombies."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has just ended
            state, _, its_group = _stat(int(folder.name))[:3]
            if int(its_group) == group and state != "Z":
                found.append(int(folder.name))
    return found


def send(mark: ProcessMark, number: int) -> bool:
    """Send the signal to this very process; return whether it was still there."""
    with suppress(ProcessLookupError):
        handle = os.pidfd_open(mark.pid)
        try:
            if is_running(mark):
                signal.pidfd_send_signal(handle, number)
                return True
        finally:
            os.close(handle)
    return False


def kill_with_children(parent: ProcessMark, patience_s: float) -> None:
    """Kill a process and those that it has started, and wait for each this long at most."""
    marks = [parent]
    for child in children_of(parent.pid) if is_running(parent) else ():
        with suppress(OSError):  # it has just ended
            marks.append(mark_of(child))
    for mark in marks:
        send(mark, signal.SIGKILL)
    for mark in marks:
        end(mark, signal.SIGKILL, patience_s)


def end(mark: ProcessMark, number: int, patience_s: float) -> bool:
    """Send the signal to this very process and wait; return whether it has ended."""
    deadline = time.monotonic() + patience_s
    send(mark, number)
    while is_running(mark):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def _stat(pid: int) -> list[str]:
    """Return the fields of ``/proc/PID/stat`` after the name, which may itself contain blanks."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def _boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
