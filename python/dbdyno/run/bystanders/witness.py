"""A witness: clients that commit numbered rows, and remember which of them were acknowledged.

What a server has acknowledged and what its data contains afterwards can then be compared row by
row, whatever the load is. The witness commits far less than a load does: what it lost is a sample
of what was lost. It never decides what a loss means.
"""

import heapq
import time
from array import array
from collections.abc import Iterator, MutableSequence, Sequence
from dataclasses import dataclass, field

from dbdyno.databases.connecting import Driver
from dbdyno.databases.connection import Connection
from dbdyno.run.bystanders.bystander import Bystander, Client, Connect

CLIENTS = 2
PAUSE_S = 0.005
"""Between two commits of a client, so that the load has the server nearly for itself."""
RETRY_S = 0.01
"""Between two attempts to connect: by so much the first commit may be seen late."""
READ_AT_ONCE = 100_000
READING_TRIES, READING_AGAIN_S = 5, 1.0
ASKED_EVERY = 100
"""After so many commits of a client, its server is asked which it is: a pooler may change it."""


@dataclass
class Committing(Client):
    """What one client of the witness has seen; instants are in ns of the monotonic clock."""

    number: int
    acknowledged_ns: MutableSequence[int] = field(default_factory=lambda: array("q"))
    """When the commit of each of its rows was acknowledged, from number 1 on; 0 if it was not. A
    long run has millions."""
    errors_ns: list[int] = field(default_factory=list)
    resumed_ns: list[int] = field(default_factory=list)
    """When its first commit after an error, or several, was acknowledged."""


@dataclass(frozen=True)
class Testimony:
    """What all clients saw, and what the data has: instants in order, in ns."""

    acknowledged_ns: Sequence[int]
    errors_ns: list[int]
    resumed_ns: list[int]
    """First commits of a client after an error of its own. While a server is killed, session by
    session, others still commit."""
    lost_ns: list[int] | None
    """When the rows were acknowledged that the data lacks; None if it could not be read."""
    servers: list[tuple[int, str]] = field(default_factory=list)
    """Which server answered when, in order, by those that tell it."""
    ended_ns: int = 0
    """Until when they have tried to commit."""

    def is_of_one_server(self, begin_ns: float, end_ns: float) -> bool:
        """Whether it is known that in a time the same one answered as before it."""
        before = [name for at_ns, name in self.servers if at_ns < begin_ns]
        within = {name for at_ns, name in self.servers if begin_ns <= at_ns < end_ns}
        return bool(before) and within == {before[-1]}


class Witness(Bystander):
    """Commits rows."""

    def __init__(self, connect: Connect, driver: Driver) -> None:
        super().__init__("witness", connect)
        self._driver = driver
        self._servers: list[tuple[int, str]] = []
        self._tells = True
        """Whether servers say which they are: each refusal would be an error in their log."""
        self._clients = [self._add(Committing(number), self._commit) for number in range(CLIENTS)]

    def create(self) -> None:
        """Create the table."""
        with self._connect() as connection:
            connection.execute(
                f"create table {self.table} (client integer not null, number bigint not null, "
                "primary key (client, number))"
            )
            self._ask(connection)
            self._tells = bool(self._servers)

    def testimony(self) -> Testimony:
        """Compare what was acknowledged with what the data has."""
        ended_ns = time.monotonic_ns()
        self.end()
        lost_ns = None
        for _ in range(READING_TRIES):
            try:
                with self._connect() as connection:
                    with self._driver.with_writer(connection):
                        found_ns = sorted(self._lacking(connection))
                    self._ask(connection)
            except Exception:  # whatever its driver raises while the server is not there
                time.sleep(READING_AGAIN_S)
            else:
                lost_ns = found_ns
                break
        acknowledged = (filter(None, client.acknowledged_ns) for client in self._clients)
        return Testimony(
            acknowledged_ns=array("q", heapq.merge(*acknowledged)),
            errors_ns=sorted(at_ns for client in self._clients for at_ns in client.errors_ns),
            resumed_ns=sorted(at_ns for client in self._clients for at_ns in client.resumed_ns),
            lost_ns=lost_ns,
            servers=sorted(self._servers),
            ended_ns=ended_ns,
        )

    def _lacking(self, connection: Connection) -> Iterator[int]:
        """Yield when rows were acknowledged that the data lacks."""
        for client in self._clients:
            for first in range(1, len(client.acknowledged_ns) + 1, READ_AT_ONCE):
                last = first + READ_AT_ONCE - 1
                rows = connection.execute(
                    f"select number from {self.table} "
                    f"where client = {client.number} and number between {first} and {last}"
                )
                present = {number for (number,) in rows.fetchall()}
                for number, at_ns in enumerate(client.acknowledged_ns[first - 1 : last], first):
                    if at_ns and number not in present:
                        yield at_ns

    def _commit(self, client: Committing) -> None:
        """Commit row after row, each in a transaction of its own, until the end."""
        number = errors = 0
        while not self._over.wait(PAUSE_S if client.connection else 0):
            if client.connection is None:
                try:
                    client.connection = self._connect()
                except Exception:  # of any driver
                    client.errors_ns.append(time.monotonic_ns())
                    self._over.wait(RETRY_S)
                    continue
                self._ask(client.connection)
            number += 1
            try:
                client.connection.execute(
                    f"insert into {self.table} values ({client.number}, {number})"
                )
            except Exception:  # of any driver: whether the row is there is not known
                client.errors_ns.append(time.monotonic_ns())
                client.acknowledged_ns.append(0)
                client.close()
            else:
                now_ns = time.monotonic_ns()
                client.acknowledged_ns.append(now_ns)
                if len(client.errors_ns) > errors:
                    client.resumed_ns.append(now_ns)
                    errors = len(client.errors_ns)
                if number % ASKED_EVERY == 0:
                    self._ask(client.connection)
        client.close()

    def _ask(self, connection: Connection) -> None:
        """Note which server answers there, if it tells."""
        if self._tells and (name := self._driver.identity(connection)):
            self._servers.append((time.monotonic_ns(), name))
