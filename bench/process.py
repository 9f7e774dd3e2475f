"""A command as a user runs it, measured from outside: its output, CPU time and elapsed time."""

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from dbdyno.errors import DbdynoError

PATIENCE_S = 10.0
"""How long a command that is no longer needed may take to end by itself."""


@dataclass(frozen=True)
class Finished:
    """A command that has succeeded."""

    output: str
    cpu_s: float
    """Of its whole process tree."""
    elapsed_s: float
    """From its start to its end, stops included."""
    stopped_s: float


class Process:
    """A running command, which can be stopped and continued with all of its processes.

    ``finish`` may be called while no other child process is being waited for.
    """

    def __init__(
        self,
        command: Sequence[str],
        process: subprocess.Popen[bytes],
        output: IO[str],
        complaints: IO[str],
    ) -> None:
        self._command = command
        self._process = process
        self._output = output
        self._complaints = complaints
        self._began_at = time.monotonic()
        self._stopped_at: float | None = None
        self._stopped_s = 0.0

    @property
    def has_ended(self) -> bool:
        """Whether it has, without reaping it: its CPU time is counted when it is reaped."""
        flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, self._process.pid, flags) is not None

    @property
    def cpu_s(self) -> float:
        """The CPU time of all of its processes until now."""
        return sum(
            _cpu_s(stat) for stat in _stats() if int(stat[_PROCESS_GROUP]) == self._process.pid
        )

    def stop(self) -> None:
        """Stops all of its processes (SIGSTOP); the server still ends what it was asked to do."""
        self._signal(signal.SIGSTOP)
        self._stopped_at = time.monotonic()

    def go_on(self) -> None:
        """Continues after ``stop``."""
        if self._stopped_at is not None:
            self._stopped_s += time.monotonic() - self._stopped_at
            self._stopped_at = None
        self._signal(signal.SIGCONT)

    def finish(self) -> Finished:
        """Waits for its end. A DbdynoError with its whole output if it fails."""
        before_s = _children_cpu_s()
        code = self._process.wait()
        elapsed_s = time.monotonic() - self._began_at
        self._output.seek(0)
        output = self._output.read()
        if code != 0:
            self._complaints.seek(0)
            text = output + self._complaints.read()  # sysbench prints errors to standard output
            command_line = " ".join(self._command)
            raise DbdynoError("tool_failed", f"{command_line} exited with {code}", text.strip())
        return Finished(output, _children_cpu_s() - before_s, elapsed_s, self._stopped_s)

    def abandon(self) -> None:
        """Ends it if it still runs."""
        if self._process.returncode is not None:
            return
        self._signal(signal.SIGTERM)
        self.go_on()
        try:
            self._process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._signal(signal.SIGKILL)
            self._process.wait()

    def _signal(self, number: signal.Signals) -> None:
        os.killpg(self._process.pid, number)


@contextmanager
def started(command: Sequence[str]) -> Iterator[Process]:
    """Starts a command in a process group of its own; it does not outlive the block."""
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as complaints:
        popen = subprocess.Popen(
            command,
            stdout=output,
            stderr=complaints,
            stdin=subprocess.DEVNULL,
            env=_environment(),
            process_group=0,
        )
        process = Process(command, popen, output, complaints)
        try:
            yield process
        finally:
            process.abandon()


def run_to_end(command: Sequence[str]) -> Finished:
    """Run a command; a DbdynoError with its whole output if it fails."""
    with started(command) as process:
        return process.finish()


def _environment() -> dict[str, str]:
    """As on a user's host, where Python caches bytecode."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


# Fields of /proc/PID/stat after the name; the last four are ticks, of the process itself and of
# those of its children that it has waited for.
_PROCESS_GROUP = 2
_TIMES = slice(11, 15)


def _stats() -> Iterator[list[str]]:
    """The fields of every process on this host, from its state on."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = path.read_text()
        except OSError:
            continue  # it has ended
        yield text.rpartition(")")[2].split()


def _cpu_s(stat: Sequence[str]) -> float:
    return sum(map(int, stat[_TIMES])) / os.sysconf("SC_CLK_TCK")


def _children_cpu_s() -> float:
    times = os.times()
    return times.children_user + times.children_system
