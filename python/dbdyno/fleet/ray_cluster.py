"""Agents on the nodes of a Ray cluster, one on each: what the controller has of them.

Ray itself is another process, :mod:`dbdyno.fleet.ray_driver`, one for each entry of ``--workers``:
where its cluster ends, Ray ends the process that uses it, and this one has a run to conclude. The
two have a socket for each agent, over which go the agent's standard input and output.
"""

import contextlib
import select
import socket
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import IO, cast

import msgspec

from dbdyno.errors import DbdynoError
from dbdyno.fleet.words import Place

PLACED_MAX_S = 60.0
"""How long Ray may take: it would try to reach a cluster that is gone for many minutes."""
END_MAX_S = 5.0
OUTPUT_LINES = 3


def on_cluster(places: Sequence[Place]) -> list[Place]:
    """Return these places as those of one cluster: no two are on one node."""
    driver = _Driver(places[0].command, len(places))
    return [_Node(place.name, place.command, driver, number) for number, place in enumerate(places)]


@dataclass(frozen=True)
class _Node(Place):
    """The place of one agent of several, which are placed together."""

    driver: "_Driver"
    number: int

    def start(self) -> "_NodeProcess":
        """Start its agent; raise what is wrong with the cluster."""
        return self.driver.agent(self.number)


class Refusal(msgspec.Struct, frozen=True):
    """What the driver answers: why there are no agents, or, without a message, that they are."""

    message: str = ""
    hint: str = ""


class _Driver:
    """The process that uses Ray: it lasts as long as one of its agents."""

    def __init__(self, command: Sequence[str], count: int) -> None:
        self._command = command
        self._count = count
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._refused: DbdynoError | None = None
        self._spare: dict[int, _NodeProcess] = {}
        self._in_use: set[_NodeProcess] = set()

    def agent(self, number: int) -> "_NodeProcess":
        """Return an agent; the first that is asked for brings the others."""
        with self._lock:
            if self._refused is not None:
                raise self._refused
            if self._process is None:
                self._start()
            agent = self._spare.pop(number)
            self._in_use.add(agent)
            return agent

    def leave(self, agent: "_NodeProcess") -> None:
        """An agent is not needed any more: with the last one, its driver ends."""
        with self._lock:
            self._in_use.discard(agent)
            if not self._in_use:
                self._end()

    def _start(self) -> None:
        if find_spec("ray") is None:
            raise DbdynoError(
                "worker",
                "a worker is on a Ray cluster, and Ray is not installed here",
                "pip install 'dbdyno[fleet]'",
            )
        with contextlib.ExitStack() as its_own:
            descriptors = []
            for number in range(self._count):
                stream, other = socket.socketpair()
                its_own.enter_context(other)
                agent = self._spare[number] = _NodeProcess(self, stream)
                descriptors += [other.fileno(), agent.printed.fileno()]
            self._process = subprocess.Popen(
                [*self._command, *map(str, descriptors)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=self._spare[0].printed,
                pass_fds=descriptors,
                start_new_session=True,  # Ctrl-C of a terminal is for the caller alone
            )
        try:
            self._await_agents(self._process)
        except BaseException as error:
            self._refused = error if isinstance(error, DbdynoError) else None
            self._end()
            raise

    def _await_agents(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        is_heard, _, _ = select.select([process.stdout], [], [], PLACED_MAX_S)
        if not is_heard:
            process.kill()
        if answer := process.stdout.readline():
            refusal = msgspec.json.decode(answer, type=Refusal)
            if refusal.message:
                raise DbdynoError("worker", refusal.message, refusal.hint)
            return
        printed = self._spare[0].printed
        printed.seek(0)
        lines = printed.read().decode(errors="replace").strip().splitlines()[-OUTPUT_LINES:]
        raise DbdynoError(
            "worker",
            f"Ray has not placed the workers; it printed: {' / '.join(lines)}",
            "Is the cluster there? RAY_ADDRESS names it; ray status shows its nodes.",
        )

    def _end(self) -> None:
        for agent in self._spare.values():
            agent.close()
        self._spare = {}
        process, self._process = self._process, None
        if process is None:
            return
        try:
            process.wait(END_MAX_S)
        except subprocess.TimeoutExpired:
            # Ray ends what a driver that was lost has placed.
            process.kill()
            process.wait()
        assert process.stdout is not None
        process.stdout.close()


class _NodeProcess:
    """An agent on a node, used as a process is."""

    pid = 0

    def __init__(self, driver: _Driver, stream: socket.socket) -> None:
        self._driver = driver
        self._stream = stream
        self.stdin = cast("IO[bytes]", stream.makefile("wb", buffering=0))
        self.stdout = cast("IO[bytes]", stream.makefile("rb", buffering=0))
        self.printed: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the agent
        stream.close()  # with the last of its files

    def kill(self) -> None:
        """End its stream: its node ends it then."""
        with contextlib.suppress(OSError):
            self._stream.shutdown(socket.SHUT_RDWR)

    def wait(self, timeout: float | None = None) -> None:  # noqa: ARG002 - as of any process
        """End it, and with the last one wait until all are."""
        self.kill()
        self._driver.leave(self)

    def close(self) -> None:
        """Close what belongs to it here."""
        for file in (self.stdin, self.stdout, self.printed):
            file.close()
