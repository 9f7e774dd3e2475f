"""What all clients beside the load have in common: threads, and a table of their own."""

import secrets
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeVar

from dbdyno.databases.connection import Connection, hang_up
from dbdyno.servers.base import Server

PATIENCE_S = 5.0

Connect = Callable[[], Connection]


@dataclass(kw_only=True)
class Client:
    """A client with a thread and a connection, which it makes anew when it is lost."""

    connection: Connection | None = field(default=None, repr=False)

    def close(self) -> None:
        """Close its connection, if it has one."""
        connection, self.connection = self.connection, None
        if connection is not None:
            with suppress(Exception):  # of any driver, about a connection that is broken
                connection.close()


C = TypeVar("C", bound=Client)


class Bystander:
    """Clients from :meth:`begin` to :meth:`end`, and the table in which they write."""

    def __init__(self, name: str, connect: Connect) -> None:
        self.name = name
        self.table = f"dbdyno_{name}_{secrets.token_hex(4)}"
        self._connect = connect
        self._over = threading.Event()
        self._beside: list[tuple[Client, threading.Thread]] = []

    def drop(self, server: Server, say: Callable[[str], None]) -> None:
        """End, and drop the table of a server; say so if it may stay, as when that is gone."""
        self.end()
        statement = f"drop table {self.table}"
        try:
            with self._connect() as connection:
                connection.execute(statement)
        except Exception as error:  # of any driver
            if server.kind == "private":
                return  # it goes with its tables
            why = str(error).partition("\n")[0]
            say(f"a table of dbdyno may be left: {why}; to remove it: {statement};")

    def begin(self) -> None:
        """Let the clients begin."""
        for _, thread in self._beside:
            thread.start()

    def end(self) -> None:
        """Let them end; what waits for an answer that does not come is hung up."""
        self._over.set()
        for client, thread in self._beside:
            if thread.ident is None:
                continue
            thread.join(PATIENCE_S)
            if thread.is_alive() and client.connection is not None:
                hang_up(client.connection)
                thread.join(PATIENCE_S)

    def _add(self, client: C, act: Callable[[C], None]) -> C:
        """Have a client act in a thread of its own, until the end."""
        thread = threading.Thread(target=act, args=(client,), name=self.name, daemon=True)
        self._beside.append((client, thread))
        return client
