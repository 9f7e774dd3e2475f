"""Control connections: opened by the driver of the protocol that the target names.

``Driver`` is what each protocol's folder offers. It is imported when a target needs it, since
drivers take long to import and most runs need one.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from dbdyno.errors import DbdynoError
from dbdyno.model.plan import Endpoint, Protocol
from dbdyno.targets.connection import Connection

SCHEMES: dict[str, Protocol] = {
    "postgresql": "postgresql",
    "postgres": "postgresql",
    "mysql": "mysql",
    "mariadb": "mysql",
}
ODBC = "odbc:"  # before a connection string, which is no URL


@dataclass(frozen=True, kw_only=True)
class Driver:
    """How servers of one protocol are reached.

    ``open`` gives a connection in autocommit mode. ``pinned`` is the target narrowed to the
    server that answered there. ``process_id`` and ``data_directory`` are None where the server
    is elsewhere, or does not tell. ``target_name`` is of the target that describes the server.
    """

    open: Callable[[str], Connection]
    endpoint_of: Callable[[Connection], Endpoint]
    url_of: Callable[[Endpoint], str]
    pinned: Callable[[str, Connection], str]
    process_id: Callable[[Connection], int | None]
    data_directory: Callable[[Connection], Path | None]
    target_name: Callable[[Connection], str]


def protocol_of(target: str) -> Protocol:
    """The protocol that a target speaks; whatever has no scheme is libpq's to read."""
    if target[: len(ODBC)].lower() == ODBC:
        return "odbc"
    scheme, url, _ = target.partition("://")
    if not url or not scheme.isalnum():
        return "postgresql"
    if scheme.lower() not in SCHEMES:
        raise DbdynoError(
            "bad_target",
            f"cannot read the target: unknown scheme {scheme}://",
            f"A target begins with {', '.join(f'{name}://' for name in SCHEMES)} or {ODBC}",
        )
    return SCHEMES[scheme.lower()]


def driver_of(protocol: Protocol) -> Driver:
    """The driver of a protocol."""
    driver: Driver = import_module(f"dbdyno.servers.{protocol}").DRIVER
    return driver


def open_connection(target: str) -> Connection:
    """A control connection to a target: a URL, a conninfo string, or empty for libpq's own."""
    return driver_of(protocol_of(target)).open(target)


def endpoint_at(target: str) -> Endpoint:
    """Where a target leads, for the engine to follow."""
    driver = driver_of(protocol_of(target))
    with driver.open(target) as connection:
        return driver.endpoint_of(connection)


def url_of(endpoint: Endpoint) -> str:
    """The endpoint as a URL that may be shown and kept: without the password."""
    return driver_of(endpoint.protocol).url_of(endpoint)
