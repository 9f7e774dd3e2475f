"""The guard of a private server: its parent process, which outlives dbdyno and then ends it.

Runs as a program of its own, in its own session, with nothing but the standard library. It
reads its order (JSON) from its only argument and holds one end of a pipe as standard input:
when dbdyno dies, however it dies, the pipe closes, and the guard stops the server at once and
removes its folders. On its output it says the server's process number, or that it has ended.
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

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

STOP_PATIENCE_S = 10


class Dismissed(Exception):  # noqa: N818 (it is an event, no error)
    """dbdyno is gone, or wants the server gone."""


def main(order: dict[str, Any]) -> None:
    """Runs the commands one after the other; the last of them is the server."""
    signal.signal(signal.SIGTERM, _dismiss)
    try:
        with contextlib.suppress(Dismissed):
            _run_all(order)
            _wait_for_dismissal()
    finally:
        for folder in order["folders"]:
            shutil.rmtree(folder, ignore_errors=True)


def _run_all(order: dict[str, Any]) -> None:
    *preparations, server = order["commands"]
    for command in preparations:
        if _run(command, order, announce=False) != 0:
            break
    else:
        _run(server, order, announce=True)
    _say("ended")


def _run(command: list[str], order: dict[str, Any], *, announce: bool) -> int:
    with open(order["log"], "ab") as log:  # noqa: PTH123 - see above
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=order["folders"][0],
            **credentials(order["account"]),
        )
    if announce:
        _say(str(process.pid))
    try:
        return _wait(process)
    finally:
        _stop(process, order["stop_signal"])


def credentials(account: str | None) -> dict[str, Any]:
    """What makes a child run as an ordinary account, with none of our groups."""
    if account is None:
        return {}
    entry = pwd.getpwnam(account)
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


def _wait(process: subprocess.Popen[bytes]) -> int:
    """Until the process ends by itself, or the pipe closes."""
    handle = os.pidfd_open(process.pid)
    try:
        ready, _, _ = select.select([sys.stdin, handle], [], [])
    finally:
        os.close(handle)
    if sys.stdin in ready:
        raise Dismissed
    return process.wait()


def _wait_for_dismissal() -> None:
    """The server is gone, but its log is still to be read."""
    select.select([sys.stdin], [], [])


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
