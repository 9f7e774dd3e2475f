"""What a server's threads do by the kernel's account, where the server does not tell.

Some servers say of a session that it is at work and not what it waits for within that work. The
kernel knows in which of its calls a thread is blocked: that is the wait, under the name of the
call. A thread that runs, or that has gone on to its next question since, is left as the server
told of it. It needs the threads' numbers, and the right to look at another's threads.
"""

import platform
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec.structs import replace

from dbdyno.host import files
from dbdyno.targets.connection import Connection
from dbdyno.targets.telemetry import Seen, Sessions

KERNEL = "Kernel"
ACTIVE = "active"
# Beside no wait at all, the waits that a server only supposes of a stage of its work.
SUPPOSED = frozenset({"", "Commit"})

# The calls that block for what a server does; those for its clients are not among them.
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
# What a thread that waits for others' work waits for is better known by the stage it is in.
VAGUE = frozenset({"futex", "nanosleep"})


class KernelWaits:
    """Looks at the threads of one process."""

    def __init__(self, root: Path, process: int) -> None:
        self._folder = f"{root}/proc/{process}/task"
        self._calls = CALLS.get(platform.machine(), {})

    def added_to(self, look: Callable[[Connection], Seen]) -> Callable[[Connection], Seen]:
        """The look with what the kernel knows besides, at the same instant."""

        def added(connection: Connection) -> Seen:
            sessions, locks = look(connection)()
            told = self.told(sessions)
            return lambda: (told, locks)

        return added

    def told(self, sessions: Sequence[Sessions]) -> list[Sessions]:
        """The same sessions, with the waits that are known better now."""
        return [told for alike in sessions for told in self._told(alike)]

    def _told(self, alike: Sessions) -> Sequence[Sessions]:
        if not alike.tasks or alike.state != ACTIVE or alike.wait_type not in SUPPOSED:
            return [alike]
        parted: dict[tuple[str, str], list[int]] = defaultdict(list)
        for place, task in enumerate(alike.tasks):
            parted[self._wait(task, (alike.wait_type, alike.wait_event))].append(place)
        return [_part(alike, places, *wait) for wait, places in parted.items()]

    def _wait(self, task: int, supposed: tuple[str, str]) -> tuple[str, str]:
        """The kind of wait and its name; as supposed where the kernel does not know better."""
        word = self._doing(task)
        if word == RUNNING:
            return "", ""
        call = self._calls.get(int(word), "") if word.isdecimal() else ""
        is_better = call and not (supposed[0] and call in VAGUE)
        return (KERNEL, call) if is_better else supposed

    def _doing(self, task: int) -> str:
        """The number of the call, or that it runs; nothing where that is not told."""
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
