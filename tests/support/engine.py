"""A small engine of Python and psycopg, that does on a real server what its frames say it did.

With it the runner is tested without the compiled one: loading goes through COPY, a run
executes the first script's statements so many times on one connection.
"""

import re
import time
from collections.abc import Callable, Iterator
from typing import IO, Any

import msgspec
import psycopg

from dbdyno.model.frame import (
    Connected,
    Distribution,
    Failed,
    Frame,
    Hello,
    Loaded,
    Progress,
    StatementInfo,
    Survey,
    WindowScript,
)
from dbdyno.model.plan import Endpoint, LoadPlan, LoadTable, Plan
from dbdyno.model.recording import Histograms
from dbdyno.run.tools import Tools
from tests.store import hdr
from tests.support.frames import SECOND_NS, counters, distribution, done, interval, started

TRANSACTIONS = 20
VALUES = {"aid": "17", "bid": "1", "tid": "3", "delta": "5", "scale": "1"}


def connect(endpoint: Endpoint) -> psycopg.Connection:
    folder, _, port = endpoint.address.unix.path.rpartition("/.s.PGSQL.")
    return psycopg.connect(
        host=folder, port=int(port), user=endpoint.user, dbname=endpoint.database, autocommit=True
    )


def load(plan: LoadPlan) -> Iterator[Progress | Loaded]:
    with connect(plan.endpoint) as connection:
        for table in plan.tables:
            with connection.transaction():
                _fill(connection, table)
            yield Progress(table.name, table.rows, table.rows)
    yield Loaded(sum(table.rows for table in plan.tables), 1)


def _fill(connection: psycopg.Connection, table: LoadTable) -> None:
    for statement in table.before:
        connection.execute(statement)
    with connection.cursor().copy(table.copy) as copy:
        copy.set_types([column.kind for column in table.columns])
        for row in range(table.rows):
            copy.write_row([_value(column.generator, row) for column in table.columns])


def _value(generator: Any, row: int) -> Any:
    if generator == "null":
        return None
    ((kind, its),) = generator.items()
    makers: dict[str, Callable[[], Any]] = {
        "sequence": lambda: its["start"] + row,
        "block": lambda: its["start"] + row // its["size"],
        "number": lambda: its["value"],
        "constant": lambda: its["text"],
    }
    return makers[kind]()


class SmallEngine:
    """Runs a plan's first script ``TRANSACTIONS`` times; subclasses go astray."""

    def __init__(self, plan: Plan, log: IO[str]) -> None:
        self.plan = plan
        self.log = log
        self.stopped = False
        self.killed = False

    def __iter__(self) -> Iterator[tuple[bytes, Frame]]:
        for frame in self.frames():
            yield msgspec.msgpack.encode(frame), frame

    def frames(self) -> Iterator[Frame]:
        yield self.hello()
        yield Connected(1, distribution({}), "15", "", [1])
        yield started()
        self.transact()
        yield self.interval()
        yield self.done()

    def hello(self) -> Hello:
        statements = [StatementInfo(0, 0, 1, self.plan.scripts[0].text[:20])]
        return Hello(1, "epoll", "", 1, statements, [])

    def transact(self) -> None:
        lines = self.plan.scripts[0].text.splitlines()
        text = "\n".join(line for line in lines if not line.startswith("\\"))
        sql = re.sub(r"(?<!:):(\w+)", lambda name: VALUES[name[1]], text)
        with connect(self.plan.endpoint) as connection:
            for _ in range(TRANSACTIONS):
                connection.execute(sql)

    def interval(self) -> Frame:
        measured = interval(ok=TRANSACTIONS, buckets={100: TRANSACTIONS})
        scripts = [measured.scripts[0]] + [
            msgspec.structs.replace(measured.scripts[0], ok=0, response=_nothing())
            for _ in self.plan.scripts[1:]
        ]
        return msgspec.structs.replace(measured, scripts=scripts, statements=[_nothing()])

    def done(self, end: str = "complete") -> Frame:
        response = hdr.encode([1_000_000] * TRANSACTIONS)
        return msgspec.structs.replace(
            done(end, measured_ns=30 * SECOND_NS, counted=counters(TRANSACTIONS)),
            response=response,
            service=response,
            scripts=[WindowScript(response, None) for _ in self.plan.scripts],
            statements=[response],
            failed_response=hdr.encode([]),
            cpu_us=10 * TRANSACTIONS,
            lateness=hdr.encode([]),
        )

    def stop(self) -> None:
        self.stopped = True

    def kill(self) -> None:
        self.killed = True


def _nothing() -> Distribution:
    return distribution({})


class Refused(SmallEngine):
    """Cannot log in."""

    def frames(self) -> Iterator[Frame]:
        yield Failed("login", "password authentication failed", "give another")


class Crashing(SmallEngine):
    """Dies after its first interval, without a word."""

    def frames(self) -> Iterator[Frame]:
        for frame in super().frames():
            if type(frame).__name__ != "Done":
                yield frame


class Interrupted(SmallEngine):
    """Ends as it does after Ctrl-C."""

    def done(self, end: str = "interrupted") -> Frame:
        return super().done(end)


class Forgetful(SmallEngine):
    """Tells of one transaction more than it made."""

    def transact(self) -> None:
        super().transact()
        with connect(self.plan.endpoint) as connection:
            connection.execute("delete from pgbench_history where ctid = '(0,1)'")


class Endless(SmallEngine):
    """Measures until it is asked to stop."""

    def frames(self) -> Iterator[Frame]:
        yield self.hello()
        yield started()
        self.transact()
        yield self.interval()
        while not self.stopped:
            time.sleep(0.05)
        yield self.done("interrupted")


class Silent(SmallEngine):
    """Says no more after its first interval, and ends only when it is killed."""

    def frames(self) -> Iterator[Frame]:
        yield self.hello()
        yield started()
        self.transact()
        yield self.interval()
        while not self.killed:
            time.sleep(0.05)


def load_for_ever(plan: LoadPlan) -> Iterator[Progress | Loaded]:
    """Loads a table row by row, and never gets to its end."""
    while True:
        yield Progress(plan.tables[0].name, 1, plan.tables[0].rows)
        time.sleep(0.05)


def no_survey(plan: Plan, _out: IO[str] | None) -> Survey:
    """There is no Lua in this engine."""
    raise AssertionError(plan.scripts)


def tools(
    engine: type[SmallEngine] = SmallEngine,
    problems: tuple[Any, ...] = (),
    bulk: Callable[[LoadPlan], Iterator[Progress | Loaded]] = load,
) -> Tools:
    histograms = Histograms(quantiles=hdr.quantiles, merge=hdr.merge, bars=hdr.bars)
    return Tools(lambda _plan: list(problems), engine, no_survey, bulk, histograms)
