"""The engine led astray: it dies, falls silent, is told to end, or tells of what is not so.

It is the real one and works on real servers; a class here meets its frames before the run does.
What a run makes of an engine that behaves is tested with the engine as it is.
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
    """Passes on what the engine says; subclasses do something when they meet a frame of it."""

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

    def kill(self) -> None:
        self.engine.kill()

    def abandon(self) -> None:
        self.engine.abandon()


def tools(engine: type[Astray]) -> Tools:
    return replace(engine_tools(), start=engine)


class Refused(Astray):
    """Logs in as somebody whom the server does not know."""

    def __init__(self, plan: Plan, log: IO[str]) -> None:
        stranger = structs.replace(plan.endpoint, user="nobody_at_all")
        super().__init__(structs.replace(plan, endpoint=stranger), log)


class _Signalled(Astray):
    """Is sent a signal when it has told of its first transactions.

    A slow disk may let none be committed in the first interval.
    """

    signal: signal.Signals

    def meet(self, frame: Frame) -> None:
        if isinstance(frame, Interval) and frame.phase == "measure" and frame.completed_ok:
            os.kill(self.engine.pid, self.signal)


class Crashing(_Signalled):
    """Dies without a word."""

    signal = signal.SIGKILL


class Silent(_Signalled):
    """Says no more, and ends only when it is killed."""

    signal = signal.SIGSTOP


class Interrupted(Astray):
    """Ends as it does after Ctrl-C."""

    def meet(self, frame: Frame) -> None:
        if isinstance(frame, Started):
            self.stop()


class InterruptedTwice(Astray):
    """Its user presses Ctrl-C, and at once again."""

    at: type[Frame] = Started

    def meet(self, frame: Frame) -> None:
        if isinstance(frame, self.at):
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)


class InterruptedEarly(InterruptedTwice):
    """Its user does so before anything was begun."""

    at = Hello


class Forgetful(Astray):
    """Tells of one transaction more than it leaves behind."""

    def meet(self, frame: Frame) -> None:
        if isinstance(frame, Done):
            with connect(self.plan.endpoint) as connection:
                connection.execute("delete from pgbench_history where ctid = '(0,1)'")


def connect(endpoint: Endpoint) -> psycopg.Connection:
    folder, _, port = endpoint.address.unix.path.rpartition("/.s.PGSQL.")
    return psycopg.connect(
        host=folder, port=int(port), user=endpoint.user, dbname=endpoint.database, autocommit=True
    )
