"""The guard of a private server: its parent process, which outlives dbdyno and then ends it.

Runs as a program of its own, in its own session, with nothing but the standard library. It
reads its order (JSON) from its only argument and holds one end of a pipe as standard input:
when dbdyno dies, however it dies, the pipe closes, and the guard stops the server at once and
removes its folders and control groups. It is asked, a word a line: ``stop`` shuts the server
down cleanly, ``start`` starts it again. It says the server's process number, ``ended`` and an
exit code when that is gone, or ``refused`` and why.
It starts beside each private server, so it imports little: neither paths nor types.
"""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import select
import shutil
import signal
import subprocess
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType
    from typing import Any, NoReturn

STOP_PATIENCE_S = 10
REMOVAL_PATIENCE_S = 2
SET_MEMPOLICY = {"x86_64": 238, "aarch64": 237}  # the system call's number
WORD_MAX = 64


class Dismissed(Exception):  # noqa: N818 (it is an event, no error)
    """dbdyno is gone, or wants the server gone."""


def main(order: dict[str, Any]) -> None:
    """Prepares the folder, and runs the server until it is no longer wanted."""
    signal.signal(signal.SIGTERM, _dismiss)
    try:
        with contextlib.suppress(Dismissed):
            _serve(order)
    finally:
        for folder in order["folders"]:
            shutil.rmtree(folder, ignore_errors=True)
        for group in order["placement"]["groups"]:
            _leave(group)


def _serve(order: dict[str, Any]) -> None:
    *preparations, server = order["commands"]
    for command in preparations:
        with _running(command, order) as process:
            code = _wait(process)
        if code != 0:
            _say(f"ended {code}")
            _wait_for_dismissal()
    while True:
        try:
            _place(order["placement"])
        except OSError as error:
            _say(f"refused {error.strerror}: {error.filename}")
            _wait_for_dismissal()
        _serve_once(server, order)
        _wait_for("start")


def _serve_once(command: list[str], order: dict[str, Any]) -> None:
    """Until it is asked to stop, or ends by itself."""
    with _running(command, order) as process:
        _say(str(process.pid))
        if not _has_ended(process):
            process.send_signal(order["clean_signal"])
        code = _wait(process)
    _say(f"ended {code}")


@contextlib.contextmanager
def _running(command: list[str], order: dict[str, Any]) -> Iterator[subprocess.Popen[bytes]]:
    """A child that does not outlive the block."""
    with open(order["log"], "ab") as log:  # noqa: PTH123 - see above
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=order["folders"][0],
            **credentials(order["account"]),
        )
    try:
        yield process
    finally:
        _stop(process, order["stop_signal"])


def credentials(account: str | None) -> dict[str, Any]:
    """What makes a child run as an ordinary account, with none of our groups."""
    if account is None:
        return {}
    entry = pwd.getpwnam(account)
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


def _place(placement: dict[str, Any]) -> None:
    """Puts the guard where the server is to be: what it starts from then on is there, too."""
    if placement["cpus"]:
        os.sched_setaffinity(0, placement["cpus"])
    for group in placement["groups"]:
        _enter(group["folder"])
    if placement["policy"]:
        _set_memory_policy(**placement["policy"])


def _set_memory_policy(mode: int, nodes: list[int]) -> None:
    """What numactl does; children inherit it, across programs."""
    import ctypes  # noqa: PLC0415 - few servers need it

    mask = ctypes.c_ulong(sum(1 << node for node in nodes))
    bits = ctypes.c_ulong(8 * ctypes.sizeof(mask) + 1)  # the kernel leaves the last one out
    call = ctypes.CDLL(None, use_errno=True).syscall
    number = SET_MEMPOLICY[os.uname().machine]
    if call(number, mode, ctypes.byref(mask) if nodes else None, bits if nodes else 0) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), "set_mempolicy")


def _enter(group: str) -> None:
    members = f"{group}/cgroup.procs"
    try:
        with open(members, "w") as file:  # noqa: PTH123 - see above
            file.write("0")  # whoever writes this enters
    except OSError as error:
        error.filename = members  # a refused write names none
        raise


def _leave(group: dict[str, str]) -> None:
    """Removes a group; the kernel may still be burying those who were in it."""
    with contextlib.suppress(OSError):
        _enter(group["home"])
    deadline = time.monotonic() + REMOVAL_PATIENCE_S
    while time.monotonic() < deadline:
        try:
            os.rmdir(group["folder"])  # noqa: PTH106 - see above
        except FileNotFoundError:
            return
        except OSError:
            time.sleep(0.02)


def _wait(process: subprocess.Popen[bytes]) -> int:
    """The exit code, once the process has ended by itself; only dismissal is heard before."""
    while not _has_ended(process):
        pass
    return process.wait()


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Waits until the process ends by itself, or there is a word; which of the two came."""
    handle = os.pidfd_open(process.pid)
    try:
        ready, _, _ = select.select([sys.stdin, handle], [], [])
    finally:
        os.close(handle)
    if handle in ready:
        return True
    _hear()
    return False


def _wait_for(word: str) -> None:
    """The server is gone, but its folder is still of use."""
    while _hear() != word:
        pass


def _wait_for_dismissal() -> NoReturn:
    """There is no server to start again, but a log to read."""
    while True:
        _hear()


def _hear() -> str:
    """The next word; the pipe's end dismisses."""
    word = os.read(0, WORD_MAX).decode().strip()
    if not word:
        raise Dismissed
    return word


def _stop(process: subprocess.Popen[bytes], number: int) -> None:
    """The quickest way: nothing in the folder will be read again."""
    if process.poll() is None:
        process.send_signal(number)
    try:
        process.wait(STOP_PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _dismiss(_number: int, _frame: FrameType | None) -> None:
    raise Dismissed


def _say(word: str) -> None:
    """Nobody may be left to listen."""
    with contextlib.suppress(BrokenPipeError):
        os.write(1, f"{word}\n".encode())


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
