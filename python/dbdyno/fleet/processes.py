"""What an agent is started as: its standard streams, what it prints, and how it is ended."""

import contextlib
import fcntl
import os
import select
import signal
import subprocess
import tempfile
import threading
from typing import IO, Protocol

PIPE_BYTES = 2**20
END_MAX_S = 0.5
"""How long after its stream a process may end."""


class Process(Protocol):
    """A process with an agent, here or elsewhere."""

    pid: int
    """Of what was started on this host, through which the agent is reached."""

    @property
    def stdin(self) -> IO[bytes] | None:
        """What the agent reads."""

    @property
    def stdout(self) -> IO[bytes] | None:
        """Its frames."""

    @property
    def printed(self) -> IO[bytes]:
        """A file with what it has printed so far."""

    def kill(self) -> None:
        """End it at once, as far as that is in our power; does not wait."""

    def wait(self, timeout: float | None = None) -> object:
        """Wait until it has ended; raise ``subprocess.TimeoutExpired`` if it does not."""

    def why_ended(self) -> str:
        """Say why its stream has ended."""


class Command(subprocess.Popen[bytes]):
    """A command on this host, and what it starts in turn."""

    def __init__(self, words: tuple[str, ...]) -> None:
        self._group = threading.Lock()
        """The number of its group is its own until it was waited for."""
        self.printed: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the agent
        try:
            super().__init__(
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self.printed,
                bufsize=0,
                start_new_session=True,  # Ctrl-C of a terminal is for the caller alone
            )
        except OSError:  # no such command, for one
            self.printed.close()
            raise
        assert self.stdin is not None
        # So that a plan fits, and nobody waits for an agent that does not read.
        with contextlib.suppress(OSError):
            fcntl.fcntl(self.stdin, fcntl.F_SETPIPE_SZ, PIPE_BYTES)

    def kill(self) -> None:
        """End it at once, and what it has started on this host, unless that left its group."""
        with self._group, contextlib.suppress(OSError):
            if self.returncode is None:
                os.killpg(self.pid, signal.SIGKILL)

    def wait(self, timeout: float | None = None) -> int:
        """Wait until it has ended; what it has started ends with it."""
        with self._group:
            if self.returncode is not None:
                return self.returncode
            end = os.pidfd_open(self.pid)
        try:
            ends = select.poll()
            ends.register(end, select.POLLIN)
            if not ends.poll(None if timeout is None else 1000 * timeout):
                raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
        finally:
            os.close(end)
        self.kill()
        with self._group:
            return super().wait()

    def why_ended(self) -> str:
        """Say how its process has ended, if it has."""
        try:
            code = self.wait(END_MAX_S)
        except subprocess.TimeoutExpired:
            return "its stream ended"
        if code < 0:
            return f"its process was killed by {_name_of(-code)}"
        return f"its process ended with exit code {code}"


def _name_of(number: int) -> str:
    """Return the name of a signal; those that are for programs to use have none."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
