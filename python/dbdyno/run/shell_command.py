"""A shell command of the user's, about a server: before a run, or while one is measured.

It learns where the server is from its environment, so that no password is on a command line.
"""

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import NamedTuple

from dbdyno.databases.connecting import driver_of
from dbdyno.model.secrets import Masker
from dbdyno.servers.base import Server

_LOOK_S = 0.2


class Failure(NamedTuple):
    """How a command failed, and what it has printed, without the server's password."""

    how: str
    output: str


def run_command(
    command: str,
    server: Server,
    variables: Mapping[str, str],
    over: threading.Event | None = None,
) -> Failure | None:
    """Run it to its end; one that still runs when ``over`` is set is killed, and has failed.

    ``variables`` are added to its environment. Raises OSError if no shell can be started.
    """
    # The folder is closed to others.
    with TemporaryDirectory(prefix="dbdyno-") as folder, TemporaryFile() as output:
        process = subprocess.Popen(
            ["/bin/sh", "-c", command],
            env={**_environment(server, Path(folder)), **variables},
            stdin=subprocess.DEVNULL,
            stdout=output,  # no pipe: a server that the command starts would keep it open
            stderr=subprocess.STDOUT,
            start_new_session=over is not None,  # to be killed with what it has started
        )
        code = _ended(process, over)
        output.seek(0)
        printed = output.read().decode(errors="replace")
    printed = Masker([server.endpoint().password or ""], touches_others=True).text(printed)
    if code is None:
        return Failure("it had not ended when the run did", printed)
    if code:
        return Failure(f"exit code {code}" if code > 0 else f"signal {-code}", printed)
    return None


def _ended(process: subprocess.Popen[bytes], over: threading.Event | None) -> int | None:
    """Wait for its end and return its exit code; None if it had to be killed."""
    if over is None:
        return process.wait()
    while not over.is_set():
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.wait(_LOOK_S)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return None


def _environment(server: Server, folder: Path) -> dict[str, str]:
    """Where the server is, for any program and for the database's own."""
    endpoint = server.endpoint()
    changed = {
        **driver_of(endpoint.protocol).client_environment(endpoint, folder),
        "DBDYNO_TARGET": server.url,
    }
    return {name: value for name, value in {**os.environ, **changed}.items() if value is not None}
