"""Control connections over ODBC, and their endpoints for the engine.

Nothing here prints a password: drivers do not repeat it, and what is shown is composed again.
"""

from collections.abc import Mapping

from dbdyno.databases.odbc.driver.attributes import read_target, shown
from dbdyno.databases.odbc.driver.connection import OdbcConnection
from dbdyno.databases.odbc.server_errors import OdbcError
from dbdyno.errors import DbdynoError
from dbdyno.model.plan import Address, Endpoint, OdbcAddress
from dbdyno.model.secrets import Masker

CONNECT_TIMEOUT_S = 10


def open_connection(target: str) -> OdbcConnection:
    """Open a control connection to ``odbc:…``."""
    attributes = read_target(target)
    try:
        return OdbcConnection(attributes, CONNECT_TIMEOUT_S)
    except OdbcError as error:
        raise _refusal(error, attributes.password) from None


def _refusal(error: OdbcError, password: str | None) -> DbdynoError:
    message = Masker([password or ""]).text(error.message)
    hint = "check the attributes of the connection string, and that the server is running"
    if error.is_of_missing_driver:
        hint = "install the database's ODBC driver; odbcinst -q -d lists the installed ones"
    elif error.state.startswith("28"):
        hint = "check user (UID) and password (PWD)"
    return DbdynoError("cannot_connect", f"cannot connect: {message}", hint)


def endpoint_of(connection: OdbcConnection) -> Endpoint:
    """Return the endpoint of this connection, for the engine."""
    attributes = connection.attributes
    return Endpoint(
        protocol="odbc",
        address=Address(odbc=OdbcAddress(attributes=attributes.place)),
        user=attributes.user,
        password=attributes.password,
        database="",
        connect_timeout_ns=connection.timeout_s * 1_000_000_000,
    )


def url_of(endpoint: Endpoint) -> str:
    """Return the endpoint as a target without the password: may be shown and stored."""
    assert endpoint.address.odbc  # the only kind of address for ODBC
    return shown(endpoint.address.odbc.attributes, endpoint.user)


def pinned(target: str, _connection: OdbcConnection) -> str:
    """Return the target unchanged: the driver decides which server answers."""
    return target


def place_in(target: str) -> Mapping[str, str]:
    """Return which database a connection string names, and the user, if it has one."""
    attributes = read_target(target)
    login = {"user": attributes.user} if attributes.user else {}
    return {"place": attributes.place, **login}
