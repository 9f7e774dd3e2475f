"""Processes told apart for good: a number alone is recycled, its start time and boot are not."""

import os
import time
from pathlib import Path

from msgspec import Struct


class ProcessMark(Struct, frozen=True):
    """One process, once and for all."""

    pid: int
    start_ticks: int
    boot_id: str


def mark_of(pid: int) -> ProcessMark:
    """The mark of a process that runs now."""
    return ProcessMark(pid=pid, start_ticks=int(_stat(pid)[19]), boot_id=_boot_id())


def is_running(mark: ProcessMark) -> bool:
    """Whether that very process still runs (one that only waits to be reaped does not)."""
    try:
        fields = _stat(mark.pid)
    except OSError:
        return False
    return fields[0] != "Z" and int(fields[19]) == mark.start_ticks and _boot_id() == mark.boot_id


def parent_of(pid: int) -> int | None:
    """The process that started ``pid``; None when it is not visible from here."""
    try:
        return int(_stat(pid)[1]) or None
    except OSError:
        return None


def end(mark: ProcessMark, number: int, patience_s: float) -> bool:
    """Sends the signal to that very process and waits; whether it is gone."""
    deadline = time.monotonic() + patience_s
    if is_running(mark):
        os.kill(mark.pid, number)
    while is_running(mark):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def _stat(pid: int) -> list[str]:
    """The fields of ``/proc/PID/stat`` after the name, which may itself hold blanks."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def _boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
