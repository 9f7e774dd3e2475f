"""The interface to Rust: the only importer of the Rust module, and the engine as a child process.

The engine runs in a process of its own, so that it shares neither memory nor interpreter with
telemetry and reports in the parent, and its CPU time is one number. A job goes in as a line of
JSON; frames come out on a descriptor of their own; what scripts print goes to the log.
"""

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import IO, Literal, NamedTuple, TypeAlias

import msgspec

from dbdyno import _engine
from dbdyno.build import build_of
from dbdyno.errors import DbdynoError
from dbdyno.model.frame import Connected, Failed, Frame, Loaded, Progress, ScriptProblem, Survey
from dbdyno.model.plan import LoadPlan, Plan, Statement
from dbdyno.model.secrets import Masker, secrets_of

_AGENT = Path(__file__).with_name("agent.py")
_LENGTH_BYTES = 4
# A script loads in milliseconds; one that has not finished loading by then never will.
SURVEY_LIMIT_S = 10.0
_decode = msgspec.msgpack.Decoder(Frame).decode

histogram_quantiles = _engine.histogram_quantiles
histogram_merge = _engine.histogram_merge
histogram_bars = _engine.histogram_bars
files_beside_clients = _engine.files_beside_clients


class Problem(msgspec.Struct, frozen=True):
    """A problem in a script; ``severity`` is ``error`` or ``warning``.

    ``line`` and ``column`` count from 1, ``text`` is the offending piece of the script.
    """

    severity: str
    script: str
    line: int
    column: int
    text: str
    message: str


def check_plan(plan: Plan) -> list[Problem]:
    """Return all problems in pgbench scripts, in order; the scripts can run if none is an error.

    :func:`survey` does this for sysbench scripts.
    """
    return msgspec.json.decode(_engine.check_plan(msgspec.json.encode(plan)), type=list[Problem])


def statements_with_variables(plan: Plan) -> list[Statement]:
    """Return the statements of pgbench scripts that have variables, unless sent as text anyway."""
    encoded = _engine.statements_with_variables(msgspec.json.encode(plan))
    return msgspec.json.decode(encoded, type=list[Statement])


Dialect: TypeAlias = Literal["postgresql", "mysql", "standard"]
"""Whose grammar decides where strings, names and comments end; ``standard`` for any server."""


class Token(NamedTuple):
    """A token of SQL.

    The kinds are ``space``, ``comment``, ``string``, ``quoted_name``, ``word``, ``number``,
    ``parameter`` (``$1``), ``placeholder`` (``?``), ``variable`` (``:name``), ``cast`` (``::``) and
    ``symbol`` (any other character).
    """

    kind: str
    text: str


def tokens(sql: str, dialect: Dialect) -> list[Token]:
    """Return the tokens of a text, in order: together they are the text."""
    return [Token(*token) for token in _engine.sql_tokens(sql, dialect)]


@cache
def build() -> str:
    """Name this build of the engine; only agents of the same one can share a load."""
    return build_of(_engine.__file__)


Sum: TypeAlias = "_engine.Fleet"
"""Adds up the frames of several engines that share a load."""


def sum_of(plan: Plan, threads: Sequence[list[int]], statements: int) -> Sum:
    """Return what adds up the frames of engines that have these threads of a plan."""
    return _engine.Fleet(msgspec.json.encode(plan), list(threads), statements)


def make_room(plan: Plan) -> None:
    """Raise the limit on open files, which the engine inherits; raises an error if it cannot."""
    refusal = _engine.make_room(plan.clients, plan.threads)
    if refusal:
        raise DbdynoError(*refusal)


class EngineProcess:
    """A running engine. Iterating yields each frame, raw and decoded, until the engine ends."""

    def __init__(self, plan: Plan, log: IO[str] | int) -> None:
        """Start it. ``log`` receives what scripts and the engine print."""
        self._start({"run": plan}, log)

    def _start(self, job: Mapping[str, Plan | LoadPlan], log: IO[str] | int) -> None:
        (plan,) = job.values()
        self._masker = Masker(secrets_of(plan))
        frames, for_engine = os.pipe()
        try:
            self._process = subprocess.Popen(
                # Without site-packages: the agent needs none, and starts in half the time.
                [sys.executable, "-I", "-S", str(_AGENT), str(for_engine)],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                pass_fds=[for_engine],
            )
        finally:
            os.close(for_engine)
        self._frames = os.fdopen(frames, "rb")
        self._send(msgspec.json.encode(job) + b"\n")

    def _send(self, data: bytes) -> None:
        stdin = self._process.stdin
        assert stdin is not None
        # The engine may have ended already: its frames, or their absence, show that.
        with contextlib.suppress(BrokenPipeError):
            if not stdin.closed:
                stdin.write(data)
                stdin.flush()

    def __iter__(self) -> Iterator[tuple[bytes, Frame]]:
        """Yield (bytes of the frame without its length, frame) until the engine has ended.

        The load begins when the frame after ``Connected`` is asked for: whoever observes the server
        can read its counters before. Secrets of the plan are masked: servers quote in errors what
        they were given.
        """
        with self._frames:
            while raw := self._next_frame():
                masked = self._masker.packed(raw)
                frame = _decode(masked)
                yield masked, frame
                if isinstance(frame, Connected):
                    self._send(b'"begin"\n')
        self._process.communicate()  # closes its input and waits

    def _next_frame(self) -> bytes | None:
        """Return the next whole frame; an incomplete one, of a killed engine, is the end."""
        length = self._frames.read(_LENGTH_BYTES)
        count = int.from_bytes(length, "little")
        raw = self._frames.read(count)
        return raw if len(length) == _LENGTH_BYTES and len(raw) == count else None

    def stop(self) -> None:
        """Ask for an early end: nothing new starts, transactions in flight get their grace."""
        self._send(b'"stop"\n')

    def served_by(self, tasks: Mapping[int, int]) -> None:
        """Send the engine the host's task for each session, by the server's session number.

        The engine needs no help with servers whose sessions are processes.
        """
        self._send(msgspec.json.encode({"served": tasks}) + b"\n")

    def awaited(self) -> str:
        """Return nothing: of an engine alone, only its frames are known."""
        return ""

    def kill(self) -> None:
        """End it at once, and its frames with it.

        Does not wait for its end: signal handlers call this, possibly while another wait is in
        progress.
        """
        self._process.kill()

    def abandon(self) -> None:
        """End it at once and wait until it has ended: nobody will read its frames."""
        self.kill()
        self._process.communicate()

    @property
    def pid(self) -> int:
        """The process ID."""
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """The exit code, once it has ended."""
        return self._process.poll()


class _SurveyProcess(EngineProcess):
    """An engine that surveys a Lua script."""

    def __init__(self, plan: Plan, out: IO[str] | int) -> None:
        self._start({"survey": plan}, out)


def survey(plan: Plan, out: IO[str] | None) -> Survey:
    """Return what the plan's Lua script declares; its help command prints to ``out``.

    A script that never finishes loading is ended, which is reported as its problem; so is a script
    that ends the engine.
    """
    process = _SurveyProcess(plan, subprocess.DEVNULL if out is None else out)
    alarm = _Alarm(process)
    message = ""
    try:
        for _, frame in process:
            if isinstance(frame, Survey):
                return frame
            if isinstance(frame, Failed):
                message = frame.message
    finally:
        alarm.cancel()
        process.abandon()
    message = message or _cause_of_silence(process, has_rung=alarm.has_rung)
    problem = ScriptProblem(line=0, message=f"{plan.scripts[0].name}: {message}")
    return Survey(problem=problem, commands=[], is_parallel=False, has_init=False, has_done=False)


class _Alarm:
    """Ends a process that takes too long, and records whether it did."""

    def __init__(self, process: EngineProcess) -> None:
        self._process = process
        self.has_rung = False
        self._timer = threading.Timer(SURVEY_LIMIT_S, self._ring)
        self._timer.start()

    def _ring(self) -> None:
        self.has_rung = True
        self._process.kill()

    def cancel(self) -> None:
        self._timer.cancel()


def _cause_of_silence(process: EngineProcess, *, has_rung: bool) -> str:
    if has_rung:
        return f"it did not come to the end of loading within {SURVEY_LIMIT_S:g} s"
    return (
        f"the engine ended while it was loading (exit code {process.returncode}): "
        "does it call os.exit() outside of its functions?"
    )


class _LoaderProcess(EngineProcess):
    """An engine that loads tables."""

    def __init__(self, plan: LoadPlan) -> None:
        self._start({"load": plan}, subprocess.DEVNULL)


def load(plan: LoadPlan) -> Iterator[Progress | Loaded]:
    """Load tables; yield progress several times a second and finally :class:`Loaded`.

    Raises :class:`DbdynoError` when the server refuses. If the caller stops reading early, the load
    is ended, and the server rolls back what is open.
    """
    loader = _LoaderProcess(plan)
    loaded = False
    try:
        for _, frame in loader:
            match frame:
                case Progress() | Loaded():
                    loaded = isinstance(frame, Loaded)
                    yield frame
                case Failed(code=code, message=message, hint=hint):
                    raise DbdynoError(code, message, hint)
                case _:
                    pass
        if not loaded:
            raise DbdynoError("load_failed", "the loader ended without reporting a result", "")
    finally:
        loader.abandon()


class ProfiledFunction(msgspec.Struct, frozen=True, array_like=True):
    """A function of a profile; ``kind`` says how it is known.

    ``named`` is of an object file and has its own name; ``near`` has none there, and is called
    after its nearest neighbour; of ``unnamed`` only the file is known, if any; ``jit`` was compiled
    while the server ran; ``kernel`` is the kernel's, and ``object`` how the task came into it.
    """

    kind: Literal["named", "near", "unnamed", "jit", "kernel"]
    name: str
    object: str


class ProfiledTask(msgspec.Struct, frozen=True, array_like=True):
    """A process's thread, with the process's command line and the thread's name."""

    pid: int
    tid: int
    title: str
    thread: str


class ProfileCount(msgspec.Struct, frozen=True, array_like=True):
    """How often a task was seen in a function, within a second."""

    second_ns: int
    pid: int
    tid: int
    function: int
    """Number of the function, in the order in which they were taken."""
    samples: int


class ProfileTaken(msgspec.Struct, frozen=True):
    """What was counted since the last time; functions and tasks that were met for the first time.

    ``lost`` are samples that the kernel had to drop.
    """

    counts: list[ProfileCount]
    functions: list[ProfiledFunction]
    tasks: list[ProfiledTask]
    lost: int


class Profile:
    """A sampled profile of a process and all its descendants, from the kernel of this host."""

    def __init__(self, process: int, hz: int, cpus: Sequence[int]) -> None:
        """Make ready to sample so often on each CPU. Raise :class:`OSError` if it may not."""
        self._profile = _engine.Profile(process, hz, list(cpus))
        self.scope, self.source, self.names_kernel = self._profile.facts()
        self.begin = self._profile.begin
        self.pause = self._profile.pause
        self.resume = self._profile.resume
        self.look = self._profile.look

    def take_before(self, until_ns: int) -> ProfileTaken:
        """Take the counts of seconds that began before an instant of the monotonic clock."""
        return msgspec.json.decode(self._profile.take_before(until_ns), type=ProfileTaken)
