"""A witness: clients that commit numbered rows, and remember which of them were acknowledged.

What a server has acknowledged and what its data contains afterwards can then be compared row by
row, whatever the load is. The witness commits far less than a load does: what it lost is a sample
of what was lost. It never decides what a loss means.
"""

import secrets
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from dbdyno.databases.connection import Connection, hang_up

CLIENTS = 2
PAUSE_S = 0.005
"""Between two commits of a client, so that the load has the server nearly for itself."""
RETRY_S = 0.01
"""Between two attempts to connect: by so much the first commit may be seen late."""
PATIENCE_S = 5.0
READING_TRIES, READING_AGAIN_S = 5, 1.0

Connect = Callable[[], Connection]


@dataclass
class Client:
    """What one client of the witness has seen; instants are in ns of the monotonic clock."""

    number: int
    acknowledged_ns: dict[int, int] = field(default_factory=dict)
    """When the commit of each of its rows was acknowledged."""
    errors_ns: list[int] = field(default_factory=list)
    resumed_ns: list[int] = field(default_factory=list)
    """When its first commit after an error, or several, was acknowledged."""
    connection: Connection | None = None


@dataclass(frozen=True)
class Testimony:
    """What all clients saw, and what the data has: instants in order, in ns."""

    acknowledged_ns: list[int]
    errors_ns: list[int]
    resumed_ns: list[int]
    """First commits of a client after an error of its own. While a server is killed, session by
    session, others still commit."""
    lost_ns: list[int] | None
    """When the rows were acknowledged that the data lacks; None if it could not be read."""


class Witness:
    """Commits from :meth:`begin` to :meth:`end`, into a table of its own."""

    def __init__(self, connect: Connect) -> None:
        self.table = f"dbdyno_witness_{secrets.token_hex(4)}"
        self._connect = connect
        self._over = threading.Event()
        self._clients = [Client(number) for number in range(CLIENTS)]
        self._threads = [
            threading.Thread(target=self._commit, args=(one,), name="witness", daemon=True)
            for one in self._clients
        ]

    def create(self) -> None:
        """Create the table."""
        with self._connect() as connection:
            connection.execute(
                f"create table {self.table} (client integer not null, number bigint not null, "
                "primary key (client, number))"
            )

    def drop(self) -> None:
        """End, and drop the table unless the server is gone."""
        self.end()
        with suppress(Exception), self._connect() as connection:
            connection.execute(f"drop table {self.table}")

    def begin(self) -> None:
        """Begin to commit."""
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        """Commit no more; what waits for an answer that does not come is hung up."""
        self._over.set()
        for thread, client in zip(self._threads, self._clients, strict=True):
            if thread.ident is None:
                continue
            thread.join(PATIENCE_S)
            if thread.is_alive() and client.connection is not None:
                hang_up(client.connection)
                thread.join(PATIENCE_S)

    def testimony(self) -> Testimony:
        """Compare what was acknowledged with what the data has."""
        self.end()
        acknowledged = {
            (client.number, number): at_ns
            for client in self._clients
            for number, at_ns in client.acknowledged_ns.items()
        }
        lost_ns = None
        for _ in range(READING_TRIES):
            try:
                with self._connect() as connection:
                    rows = connection.execute(f"select client, number from {self.table}").fetchall()
            except Exception:  # whatever its driver raises while the server is not there
                time.sleep(READING_AGAIN_S)
            else:
                lost_ns = [acknowledged[row] for row in acknowledged.keys() - set(map(tuple, rows))]
                break
        return Testimony(
            acknowledged_ns=sorted(acknowledged.values()),
            errors_ns=sorted(at_ns for client in self._clients for at_ns in client.errors_ns),
            resumed_ns=sorted(at_ns for client in self._clients for at_ns in client.resumed_ns),
            lost_ns=None if lost_ns is None else sorted(lost_ns),
        )

    def _commit(self, client: Client) -> None:
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
            number += 1
            try:
                client.connection.execute(
                    f"insert into {self.table} values ({client.number}, {number})"
                )
            except Exception:  # of any driver: whether the row is there is not known
                client.errors_ns.append(time.monotonic_ns())
                self._close(client)
            else:
                now_ns = client.acknowledged_ns[number] = time.monotonic_ns()
                if len(client.errors_ns) > errors:
                    client.resumed_ns.append(now_ns)
                    errors = len(client.errors_ns)
        self._close(client)

    @staticmethod
    def _close(client: Client) -> None:
        connection, client.connection = client.connection, None
        if connection is not None:
            with suppress(Exception):  # of any driver, about a connection that is broken
                connection.close()
