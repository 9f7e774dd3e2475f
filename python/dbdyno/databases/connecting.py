"""Control connections: opened by the driver for the protocol that the target names.

``Driver`` is the interface of each protocol's folder. Drivers are imported when a target needs
them, since they take long to import and most runs need one.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from urllib.parse import quote, urlencode

from msgspec.structs import replace

from dbdyno.databases.adapters import native_adapter
from dbdyno.databases.connection import Connection
from dbdyno.errors import DbdynoError
from dbdyno.model.plan import Endpoint, Protocol
from dbdyno.model.record import IntermediaryRecord

SCHEMES: dict[str, Protocol] = {
    "postgresql": "postgresql",
    "postgres": "postgresql",
    "mysql": "mysql",
    "mariadb": "mysql",
}
ODBC = "odbc:"  # prefix of a connection string, which is not a URL


def _nothing_shows(_target: str, _connection: Connection) -> None:
    return None


def _as_it_is(target: str, _settings: Mapping[str, str]) -> str:
    return target


@dataclass(frozen=True, kw_only=True)
class Driver:
    """How servers of one protocol are reached.

    ``open`` returns a connection in autocommit mode. ``pinned`` narrows the target to the server
    that answered there. ``process_id`` and ``data_directory`` return None if the server is
    elsewhere, or does not report them. ``says`` returns what the server says of itself.
    ``place_in`` reads from a target which database it names, leaving out what it leaves out;
    ``parameters_in`` reads further parameters, except for secrets. ``client_environment`` returns
    the environment variables by which the database's own clients find an endpoint, and None for
    those that would lead them elsewhere; files that they name are written to the given folder.
    ``with_settings`` returns the target whose sessions begin with these settings, where they are
    part of the login. ``intermediary`` returns what lies between a connection, to which the target
    leads, and its server. ``read_only_query`` yields ``off`` or 0 on a server that takes writes;
    where it is empty, nobody is asked. ``identity_query`` yields a row that no other server has
    that may take the place of the one that answers.
    """

    open: Callable[[str], Connection]
    endpoint_of: Callable[[Connection], Endpoint]
    url_of: Callable[[Endpoint], str]
    pinned: Callable[[str, Connection], str]
    process_id: Callable[[Connection], int | None]
    data_directory: Callable[[Connection], Path | None]
    says: Callable[[Connection], str]
    place_in: Callable[[str], Mapping[str, str]]
    parameters_in: Callable[[str], Mapping[str, str]]
    client_environment: Callable[[Endpoint, Path], Mapping[str, str | None]]
    with_settings: Callable[[str, Mapping[str, str]], str] = _as_it_is
    intermediary: Callable[[str, Connection], IntermediaryRecord | None] = _nothing_shows
    read_only_query: str = ""
    identity_query: str = ""

    def takes_writes(self, connection: Connection) -> bool | None:
        """Whether a server says that it is not read-only; None if it does not understand that."""
        if not self.read_only_query:
            return None
        try:
            (value,) = connection.execute(self.read_only_query).fetchone()
        except Exception:  # of any driver: other databases speak the protocol, too
            return None
        return str(value).lower() in ("off", "0")

    @contextmanager
    def with_writer(self, connection: Connection) -> Iterator[None]:
        """Ask the server that answers writers, by a transaction: that is where proxies lead it.

        Those that spread reads do so with statements outside of one. Databases of which it is not
        known that they understand this are asked without.
        """
        if self.identity_query:
            connection.execute("begin")
        try:
            yield
        finally:
            if self.identity_query:
                with suppress(Exception):  # of any driver, about a connection that is broken
                    connection.execute("rollback")

    def identity(self, connection: Connection) -> str | None:
        """Return which server answers writers at the end of a connection; None if none tells."""
        if not self.identity_query:
            return None
        try:
            with self.with_writer(connection):
                row = connection.execute(self.identity_query).fetchone()
        except Exception:  # of any driver: other databases speak the protocol, too
            return None
        return " ".join(map(str, row))


def protocol_of(target: str) -> Protocol:
    """Return the protocol of a target; a target without a scheme is parsed by libpq."""
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
    """Return the driver of a protocol."""
    driver: Driver = import_module(f"dbdyno.databases.{protocol}.driver").DRIVER
    return driver


def open_connection(target: str) -> Connection:
    """Open a control connection to a URL, a conninfo string, or, if empty, libpq's default."""
    return driver_of(protocol_of(target)).open(target)


@contextmanager
def inspecting(target: str) -> Iterator[tuple[Driver, Connection]]:
    """Open a control connection for the block, to find out about its server."""
    protocol = protocol_of(target)
    driver = driver_of(protocol)
    with (
        driver.open(target) as connection,
        native_adapter(protocol).understood("find out about the server"),
    ):
        yield driver, connection


def intermediaries(
    first: str, control: Connection, endpoint: Endpoint, further: Sequence[str]
) -> list[IntermediaryRecord]:
    """Return what lies in front of the server that ``control`` leads to, and of ``further`` ones.

    ``first`` is the target of ``control``, and ``endpoint`` that of all.
    """
    protocol = endpoint.protocol
    with native_adapter(protocol).understood("find out what is in front of the server"):
        found = driver_of(protocol).intermediary(first, control)
    seen = [replace(found, target=url_of(endpoint))] if found else []
    for target in further:
        with inspecting(target) as (driver, connection):
            found = driver.intermediary(target, connection)
            if found:
                seen.append(replace(found, target=driver.url_of(driver.endpoint_of(connection))))
    return seen


def repeatable(target: str, url: str) -> str:
    """Return a target for the same connections again, but for the password.

    It is ``url``, that of the connection that was made, with the further parameters of ``target``.
    """
    parameters = driver_of(protocol_of(target)).parameters_in(target)
    if not parameters:
        return url
    query = urlencode(parameters, safe="/", errors="surrogateescape", quote_via=quote)
    return f"{url}{'&' if '?' in url else '?'}{query}"


def names_database(target: str, url: str) -> bool:
    """Whether a target names this database; what it leaves out, such as a port, may be any."""
    protocol = protocol_of(target)
    if protocol_of(url) != protocol:
        return False
    place_in = driver_of(protocol).place_in
    return place_in(target).items() <= place_in(url).items()


def url_of(endpoint: Endpoint) -> str:
    """Return the endpoint as a URL without the password: may be shown and stored."""
    return driver_of(endpoint.protocol).url_of(endpoint)


def further_urls(endpoint: Endpoint) -> list[str]:
    """Return the URLs of the endpoint's further servers, without the password."""
    return [
        url_of(replace(endpoint, address=address, further_addresses=[]))
        for address in endpoint.further_addresses
    ]
