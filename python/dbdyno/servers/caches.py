"""Puts the caches of a private server into a known state: warm, or cold. Reports what was done.

Cold means that neither the server nor the kernel caches a page of the data: the server is
restarted, and its files are dropped from the kernel's cache in between.
"""

from collections.abc import Sequence

from dbdyno.databases.connection import Connection
from dbdyno.servers.page_cache import drop_files
from dbdyno.servers.private import PrivateServer


def warmed(server: PrivateServer, connection: Connection, tables: Sequence[str]) -> str:
    """Read the tables and their indexes into the caches; return what was done, in words."""
    return server.cluster.blueprint.product.warm(connection, tables)


def cooled(server: PrivateServer) -> tuple[PrivateServer, str]:
    """Restart the server with cold caches; return it, and what was done, in words."""
    server.shut_down()
    dropped = drop_files(server.cluster.data, server.cluster.wal_place)
    return server.started_again(), f"restarted the server and {dropped}"
