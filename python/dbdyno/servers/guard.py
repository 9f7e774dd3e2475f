"""The guard of a private server: its parent process, which outlives dbdyno and then stops it.

Runs as a program of its own, in its own process group, with only the standard library. It reads its
order (JSON) from its only argument and holds one end of a pipe as standard input: when dbdyno dies,
however it dies, the pipe closes, and the guard stops the server at once and removes its folders and
control groups. Its commands are words, one per line: ``stop`` shuts the server down cleanly,
``start`` starts it again. It reports the server's process ID, ``ended`` and an exit code when the
server has ended, or ``refused`` and the reason.

It starts for each private server, so it imports little: neither pathlib nor typing.
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

STOP_PATIENCE_S = 25  # less than dbdyno waits for the guard
REMOVAL_PATIENCE_S = 2
SET_MEMPOLICY = {"x86_64": 238, "aarch64": 237}  # the number of the system call
MESSAGE_MAX = 64


class Dismissed(Exception):  # noqa: N818 (an event, not an error)
    """dbdyno has ended, or wants the server to end."""


def main(order: dict[str, Any]) -> None:
    """Prepare the folder, and run the server until it is no longer wanted."""
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
    process = None
    try:
        for command in preparations:
            with _running(command, order, stop_signal=None) as process:
                code = _wait(process)
            if code != 0:
                _send(f"ended {code}")
                _wait_for_dismissal()
        while True:
            try:
                _place(order["placement"])
            except OSError as error:
                _send(f"refused {error.strerror}: {error.filename}")
                _wait_for_dismissal()
            with _running(server, order, order["stop_signal"]) as process:
                _send(str(process.pid))
                if not _has_ended(process):
                    process.send_signal(order["clean_signal"])
                code = _wait(process)
            _send(f"ended {code}")
            while _receive() != "start":  # the folder is still needed
                pass
    finally:
        # One that was killed and started again has done it by itself, and must not wait for this.
        if process and process.returncode < 0 and order["release"]:
            subprocess.run(order["release"], check=False)


@contextlib.contextmanager
def _running(
    command: list[str], order: dict[str, Any], stop_signal: int | None
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a child process that does not outlive the block.

    Without a signal that stops it, it is left to finish: the installer of a database has children
    of its own, and PostgreSQL's leave shared memory behind if their folder is removed under them.
    """
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
        _stop(process, stop_signal)


def credentials(account: str | None) -> dict[str, Any]:
    """Return the arguments that run a child as an ordinary account, without our groups."""
    if account is None:
        return {}
    entry = pwd.getpwnam(account)
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


def _place(placement: dict[str, Any]) -> None:
    """Put the guard where the server is to be: processes that it then starts inherit that."""
    if placement["cpus"]:
        os.sched_setaffinity(0, placement["cpus"])
    for group in placement["groups"]:
        _enter(group["folder"])
    if placement["policy"]:
        _set_memory_policy(**placement["policy"])


def _set_memory_policy(mode: int, nodes: list[int]) -> None:
    """Set the policy as numactl does; children inherit it, across programs."""
    import ctypes  # noqa: PLC0415 - few servers need it

    mask = ctypes.c_ulong(sum(1 << node for node in nodes))
    bits = ctypes.c_ulong(8 * ctypes.sizeof(mask) + 1)  # the kernel ignores the last bit
    call = ctypes.CDLL(None, use_errno=True).syscall
    number = SET_MEMPOLICY[os.uname().machine]
    if call(number, mode, ctypes.byref(mask) if nodes else None, bits if nodes else 0) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), "set_mempolicy")


def _enter(group: str) -> None:
    members = f"{group}/cgroup.procs"
    try:
        with open(members, "w") as file:  # noqa: PTH123 - see above
            file.write("0")  # adds the writing process
    except OSError as error:
        error.filename = members  # a failed write names no file
        raise


def _leave(group: dict[str, str]) -> None:
    """Remove a group; its last processes may still be ending in the kernel."""
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
    """Return the exit code once the process has ended by itself; only dismissal interrupts this."""
    while not _has_ended(process):
        pass
    return process.wait()


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Wait until the process ends by itself or a command arrives; return whether it ended."""
    handle = os.pidfd_open(process.pid)
    try:
        ready, _, _ = select.select([sys.stdin, handle], [], [])
    finally:
        os.close(handle)
    if handle in ready:
        return True
    _receive()
    return False


def _wait_for_dismissal() -> NoReturn:
    """Wait for dismissal: there is no server to start again, but a log to read."""
    while True:
        _receive()


def _receive() -> str:
    """Return the next command; the end of the pipe raises :exc:`Dismissed`."""
    message = os.read(0, MESSAGE_MAX).decode().strip()
    if not message:
        raise Dismissed
    return message


def _stop(process: subprocess.Popen[bytes], number: int | None) -> None:
    """Stop the process in the quickest way: nothing in the folder will be read again.

    The signal is repeated, since one that comes while a server starts may do nothing. Killing is
    the last resort: a PostgreSQL that was killed leaves shared memory behind.
    """
    for _ in range(STOP_PATIENCE_S):
        if process.poll() is None and number is not None:
            process.send_signal(number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(1)
            return
    process.kill()
    process.wait()


def _dismiss(number: int, _frame: FrameType | None) -> None:
    """Begin the end; another such signal must not interrupt it before the server has stopped."""
    signal.signal(number, signal.SIG_IGN)
    raise Dismissed


def _send(message: str) -> None:
    """Send a line; nobody may be left to read it."""
    with contextlib.suppress(BrokenPipeError):
        os.write(1, f"{message}\n".encode())


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
