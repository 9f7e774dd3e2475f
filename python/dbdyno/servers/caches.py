"""The caches of a private server in a known state: warm, or cold. Each says what it did.

Cold means that neither the server nor the kernel holds a page of the data: the server is
started anew, and its files are dropped from the kernel's cache in between.
"""

from collections.abc import Sequence

from dbdyno.servers.page_cache import drop_files
from dbdyno.servers.private import PrivateServer
from dbdyno.targets.connection import Connection


def warmed(server: PrivateServer, connection: Connection, tables: Sequence[str]) -> str:
    """Reads the tables and their indexes into the caches; what was done, in words."""
    return server.cluster.blueprint.product.warm(connection, tables)


def cooled(server: PrivateServer) -> tuple[PrivateServer, str]:
    """The server started anew, with nothing of its data in memory; what was done, in words."""
    server.shut_down()
    told = drop_files(server.cluster.data, server.cluster.wal_place)
    return server.started_again(), f"restarted the server and {told}"
