"""What a server's threads wait for, from the kernel, where the server does not report it.

Some servers report that a session is active, but not what it waits for. The kernel knows the system
call in which a thread is blocked: the name of the call is then the wait. A thread that runs waits
for nothing; one in another call, because it has gone on since the sample, is left as the server
reported it. This needs the threads' kernel IDs and the permission to inspect another process's
threads.
"""

import platform
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from dbdyno.databases.connection import Connection
from dbdyno.databases.telemetry import PendingSample, SampleSessions, Sessions
from dbdyno.host import files

KERNEL = "Kernel"
ACTIVE = "active"
# No wait at all, or a wait that the server infers only from the stage of a statement.
SUPPOSED = frozenset({"", "Commit"})

# The calls that block for the server's own work; waiting for its clients is not among them.
CALLS: dict[str, dict[int, str]] = {
    "x86_64": {
        17: "pread", 18: "pwrite", 35: "nanosleep", 74: "fsync", 75: "fdatasync",
        202: "futex", 208: "io_getevents", 230: "nanosleep", 277: "sync_file_range",
        295: "pread", 296: "pwrite", 426: "io_uring_enter",
    },
    "aarch64": {
        4: "io_getevents", 67: "pread", 68: "pwrite", 69: "pread", 70: "pwrite",
        82: "fsync", 83: "fdatasync", 84: "sync_file_range", 98: "futex", 101: "nanosleep",
        115: "nanosleep", 426: "io_uring_enter",
    },
}  # fmt: skip
RUNNING = "running"
# For these calls, the stage that the server reports says more about the wait than the call does.
VAGUE = frozenset({"futex", "nanosleep"})


class KernelWaits:
    """Inspects the threads of one process."""

    def __init__(self, root: Path, process: int) -> None:
        self._folder = f"{root}/proc/{process}/task"
        self._calls = CALLS.get(platform.machine(), {})

    def added_to(self, sample: SampleSessions) -> SampleSessions:
        """Return a sampling function that adds what the kernel knows at the same instant."""

        def added(connection: Connection) -> PendingSample:
            sessions, locks = sample(connection)()
            split = self.with_kernel_waits(sessions)
            return lambda: (split, locks)

        return added

    def with_kernel_waits(self, sessions: Sequence[Sessions]) -> list[Sessions]:
        """Return the same sessions, with the kernel's waits where they are more precise."""
        return [part for alike in sessions for part in self._split(alike)]

    def _split(self, alike: Sessions) -> Sequence[Sessions]:
        if not alike.tasks or alike.state != ACTIVE or alike.wait_type not in SUPPOSED:
            return [alike]
        parted: dict[tuple[str, str], list[int]] = defaultdict(list)
        for place, task in enumerate(alike.tasks):
            parted[self._wait(task, (alike.wait_type, alike.wait_event))].append(place)
        return [_part(alike, places, *wait) for wait, places in parted.items()]

    def _wait(self, task: int, supposed: tuple[str, str]) -> tuple[str, str]:
        """Return a wait's type and name: ``supposed``, unless the kernel knows better."""
        call_number = self._doing(task)
        if call_number == RUNNING:
            return "", ""
        call = self._calls.get(int(call_number), "") if call_number.isdecimal() else ""
        is_better = call and not (supposed[0] and call in VAGUE)
        return (KERNEL, call) if is_better else supposed

    def _doing(self, task: int) -> str:
        """Return the system call's number, or ``running``; empty if the kernel does not show it."""
        try:
            return files.short(f"{self._folder}/{task}/syscall").split(maxsplit=1)[0].decode()
        except (OSError, IndexError):
            return ""


def _part(alike: Sessions, places: Sequence[int], wait_type: str, wait_event: str) -> Sessions:
    return replace(
        alike,
        pids=[alike.pids[place] for place in places],
        tasks=[alike.tasks[place] for place in places],
        wait_type=wait_type,
        wait_event=wait_event,
    )
