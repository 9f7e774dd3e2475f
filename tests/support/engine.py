"""Misbehaving engines: they crash, fall silent, are interrupted, or report wrong numbers.

Each is the real engine on real servers; a class here sees its frames before the run does. How a run
handles a misbehaving engine is thus tested with the real one.
"""

import os
import signal
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import IO

import psycopg
from msgspec import structs

from dbdyno.engine import EngineProcess
from dbdyno.model.frame import Done, Frame, Hello, Interval, Started
from dbdyno.model.plan import Endpoint, Plan
from dbdyno.run.tools import Tools, engine_tools


class Astray:
    """Passes on the engine's frames; subclasses act when they see a certain frame."""

    def __init__(self, plan: Plan, log: IO[str]) -> None:
        self.plan = plan
        self.engine = EngineProcess(plan, log)

    def __iter__(self) -> Iterator[tuple[bytes, Frame]]:
        for raw, frame in self.engine:
            self.meet(frame)
            yield raw, frame

    def meet(self, frame: Frame) -> None:
        """Called before the run is given the frame."""

    def stop(self) -> None:
        self.engine.stop()

    def served_by(self, tasks: Mapping[int, int]) -> None:
        self.engine.served_by(tasks)

    def awaited(self) -> str:
        return self.engine.awaited()

    def kill(self) -> None:
        self.engine.kill()

    def abandon(self) -> None:
        self.engine.abandon()


def tools(engine: type[Astray]) -> Tools:
    return replace(engine_tools(), start=engine)


class Refused(Astray):
    """Logs in as a user that the server does not know."""

    def __init__(self, plan: Plan, log: IO[str]) -> None:
        stranger = structs.replace(plan.endpoint, user="nobody_at_all")
        super().__init__(structs.replace(plan, endpoint=stranger), log)


class _Signalled(Astray):
    """Gets a signal when it has reported its first transactions.

    On a slow disk, none may be committed in the first interval.
    """

    signal: signal.Signals

    def meet(self, frame: Frame) -> None:
        if isinstance(frame, Interval) and frame.phase == "measure" and frame.completed_ok:
            os.kill(self.engine.pid, self.signal)


class Crashing(_Signalled):
    """Crashes without reporting an error."""

    signal = signal.SIGKILL


class Silent(_Signalled):
    """Falls silent, and ends only when it is killed."""

    signal = signal.SIGSTOP


class Interrupted(Astray):
    """Ends as after Ctrl-C."""

    def meet(self, frame: Frame) -> None:
        if isinstance(frame, Started):
            self.stop()


class InterruptedTwice(Astray):
    """Is interrupted twice in immediate succession."""

    at: type[Frame] = Started

    def meet(self, frame: Frame) -> None:
        if isinstance(frame, self.at):
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)


class InterruptedEarly(InterruptedTwice):
    """Is interrupted twice before anything has begun."""

    at = Hello


class Forgetful(Astray):
    """Reports one transaction more than it made."""

    def meet(self, frame: Frame) -> None:
        if isinstance(frame, Done):
            with connect(self.plan.endpoint) as connection:
                connection.execute("delete from pgbench_history where ctid = '(0,1)'")


def connect(endpoint: Endpoint) -> psycopg.Connection:
    folder, _, port = endpoint.address.unix.path.rpartition("/.s.PGSQL.")
    return psycopg.connect(
        host=folder, port=int(port), user=endpoint.user, dbname=endpoint.database, autocommit=True
    )
