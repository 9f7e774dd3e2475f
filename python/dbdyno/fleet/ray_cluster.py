"""Agents on the nodes of a Ray cluster, one on each: what the controller has of them.

Ray itself is another process, :mod:`dbdyno.fleet.ray_driver`, one for each entry of ``--workers``:
where its cluster ends, Ray ends the process that uses it, and this one has a run to conclude. The
two have a socket for each agent, over which go the agent's standard input and output; over another
one, it is asked for agents, once for each run. Runs that belong together have one driver: Ray would
take seconds to place each run's agents anew, and might choose other nodes.
"""

import contextlib
import socket
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
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
ANSWER_BYTES = 2**16
_idle: ContextVar[list["_Driver"] | None] = ContextVar("_idle", default=None)
"""Drivers that a next run may use; None where no further run is expected."""


@contextlib.contextmanager
def kept_nodes() -> Iterator[None]:
    """Keep the nodes of each run in the block for the next one that asks for the same."""
    idle: list[_Driver] = []
    before = _idle.set(idle)
    try:
        yield
    finally:
        _idle.reset(before)
        for driver in idle:
            driver.end()


def on_cluster(places: Sequence[Place]) -> list[Place]:
    """Return these places as those of one cluster: no two are on one node."""
    agents = _Agents(places[0].command, len(places))
    return [_Node(place.name, place.command, agents, number) for number, place in enumerate(places)]


@dataclass(frozen=True)
class _Node(Place):
    """The place of one agent of several, which are placed together."""

    agents: "_Agents"
    number: int

    def start(self) -> "_NodeProcess":
        """Start its agent; raise what is wrong with the cluster."""
        return self.agents.take(self.number)


class Answer(msgspec.Struct, frozen=True):
    """What a driver says: that the agents are there, or all over; or, by a message, why not."""

    message: str = ""
    hint: str = ""


class _Driver:
    """A process that uses Ray, and the nodes that it has reserved."""

    def __init__(self, command: Sequence[str], count: int) -> None:
        self.asked = (command, count)
        self._printed: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed with it
        self._control, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with other:
            self._process = subprocess.Popen(
                [*command, str(count), str(other.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=self._printed,
                stderr=self._printed,
                pass_fds=[other.fileno()],
                start_new_session=True,  # Ctrl-C of a terminal is for the caller alone
            )

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    def join(self, descriptors: Sequence[tuple[int, int]]) -> Answer | None:
        """Have it join these sockets and files with agents; return its answer, None if it died."""
        self._control.settimeout(PLACED_MAX_S)
        with contextlib.suppress(OSError):
            for pair in descriptors:
                socket.send_fds(self._control, [b"\0"], pair)
            return self._answer()
        return None

    def is_ready_again(self) -> bool:
        """Whether all agents are over, and nothing is wrong with their nodes."""
        self._control.settimeout(END_MAX_S)
        with contextlib.suppress(OSError):
            return self._answer() is not None
        return False

    def last_lines(self) -> str:
        """Return what it printed last."""
        self._printed.seek(0)
        lines = self._printed.read().decode(errors="replace").strip().splitlines()
        return " / ".join(lines[-OUTPUT_LINES:])

    def end(self) -> None:
        """Give its nodes back."""
        self._control.close()
        try:
            self._process.wait(END_MAX_S)
        except subprocess.TimeoutExpired:
            # Ray ends what a driver that was lost has placed.
            self._process.kill()
            self._process.wait()
        self._printed.close()

    def _answer(self) -> Answer | None:
        answer = self._control.recv(ANSWER_BYTES)
        return msgspec.json.decode(answer, type=Answer) if answer else None


class _Agents:
    """The agents of one entry in one run; they have a driver as long as one of them lasts."""

    def __init__(self, command: Sequence[str], count: int) -> None:
        self._asked = (command, count)
        self._lock = threading.Lock()
        self._driver: _Driver | None = None
        self._refused: DbdynoError | None = None
        self._spare: dict[int, _NodeProcess] = {}
        self._in_use: set[_NodeProcess] = set()

    def take(self, number: int) -> "_NodeProcess":
        """Return an agent; the first that is asked for brings the others."""
        with self._lock:
            if self._refused is not None:
                raise self._refused
            if self._driver is None:
                self._start()
            assert self._driver is not None, "it has started, or was refused"
            agent = self._spare.pop(number)
            agent.pid = self._driver.pid
            self._in_use.add(agent)
            return agent

    def leave(self, agent: "_NodeProcess") -> None:
        """An agent is not needed any more; with the last one, neither is their driver."""
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
            for number in range(self._asked[1]):
                stream, other = socket.socketpair()
                its_own.enter_context(other)
                agent = self._spare[number] = _NodeProcess(self, stream)
                descriptors.append((other.fileno(), agent.printed.fileno()))
            try:
                self._join(descriptors)
            except BaseException as error:
                self._refused = error if isinstance(error, DbdynoError) else None
                self._end(is_last_run=True)
                raise

    def _join(self, descriptors: Sequence[tuple[int, int]]) -> None:
        idle = _idle.get() or []
        for driver in [its for its in idle if its.asked == self._asked]:
            idle.remove(driver)
            self._driver = driver
            if self._driver.join(descriptors) == Answer():
                return
            self._driver.end()  # its cluster was restarted, for example, or a node is gone
        while idle:  # they have nodes that this one may need
            idle.pop().end()
        self._driver = _Driver(*self._asked)
        answer = self._driver.join(descriptors)
        if answer is None:
            raise DbdynoError(
                "worker",
                f"Ray has not placed the workers; it printed: {self._driver.last_lines()}",
                "Is the cluster there? RAY_ADDRESS names it; ray status shows its nodes. If it has "
                "a token, RAY_AUTH_MODE=token and RAY_AUTH_TOKEN_PATH are needed here, too.",
            )
        if answer.message:
            raise DbdynoError("worker", answer.message, answer.hint)

    def _end(self, *, is_last_run: bool = False) -> None:
        for agent in self._spare.values():
            agent.close()
        self._spare = {}
        driver, self._driver = self._driver, None
        if driver is None:
            return
        idle = None if is_last_run else _idle.get()
        if idle is not None and driver.is_ready_again():
            idle.append(driver)
        else:
            driver.end()


class _NodeProcess:
    """An agent on a node, used as a process is."""

    pid: int
    """Of the driver, which passes on what it says; known as soon as the agent is taken."""

    def __init__(self, agents: _Agents, stream: socket.socket) -> None:
        self._agents = agents
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
        self._agents.leave(self)

    def why_ended(self) -> str:
        """Say what may have been. What Ray knows of it comes later, and is in the log then."""
        return "its node is gone, or Ray has ended it there"

    def close(self) -> None:
        """Close what belongs to it here."""
        for file in (self.stdin, self.stdout, self.printed):
            file.close()
