"""Control connections to MySQL and MariaDB: opened as requested, and translated for the engine.

Nothing here prints a password.
"""

import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import pymysql
from msgspec.structs import replace
from pymysql.cursors import Cursor

from dbdyno.databases.mysql.driver.authentication import AuthenticatingConnection
from dbdyno.databases.mysql.driver.connection import MysqlConnection
from dbdyno.databases.mysql.driver.login import Login, TlsSetting, login_of
from dbdyno.databases.mysql.driver.refusals import refusal
from dbdyno.databases.mysql.driver.url import login_url
from dbdyno.databases.passwords import locked_key
from dbdyno.errors import DbdynoError
from dbdyno.model.plan import Endpoint, Tls, TlsMode

APPLICATION_NAME = "dbdyno"
# Each statement outside a transaction block commits, as with most drivers. Where that is the
# default of new sessions, it is not set again: that would cost each connection a round trip.
AUTOCOMMIT = {"autocommit": "1"}
IS_AUTOCOMMIT_DEFAULT = "select @@global.autocommit and @@global.init_connect = ''"
# A control connection is idle while the engine loads a table: the server's limit may be shorter.
# The greater of the variable and a number is a decimal in MySQL, which the variable refuses.
IDLE_MAX_S = 7 * 24 * 3600
STAY = f"set session wait_timeout = cast(greatest(@@wait_timeout, {IDLE_MAX_S}) as unsigned)"

# The engine uses libpq's terms. PREFERRED becomes the mode that resulted.
TLS_MODES: dict[TlsSetting, TlsMode] = {
    "DISABLED": "disable",
    "PREFERRED": "require",
    "REQUIRED": "require",
    "VERIFY_CA": "verify-ca",
    "VERIFY_IDENTITY": "verify-full",
}


def open_connection(target: str) -> MysqlConnection:
    """Open a control connection to ``target``, a URL completed by option files and environment."""
    login = login_of(target)
    _refuse_missing_socket(login)
    driver = AuthenticatingConnection(
        **_address(login),
        user=login.user,
        password=login.password.encode(),  # the driver would encode it in Latin-1
        database=login.database or None,
        autocommit=True,
        # By itself, connect_timeout ends before the server's first word.
        connect_timeout=login.connect_timeout_s,
        read_timeout=login.connect_timeout_s,
        write_timeout=login.connect_timeout_s,
        program_name=APPLICATION_NAME,
        init_command=STAY,
        ssl=None if _is_open(login) else _tls_context(login),
        ssl_disabled=_is_open(login),
        defer_connect=True,
    )
    if login.certificate and not _is_open(login):
        _present_certificate(driver, login)
    connection = MysqlConnection(driver, login)
    try:
        driver.connect(_socket_to_numeric(login))
    except pymysql.Error as error:
        connection.close()  # the driver leaves it open after some errors
        raise refusal(error, login) from None
    except Exception as error:
        # A plugin that needs a missing library, or an answer that the driver cannot read.
        connection.close()
        why = f"the driver's authentication plugin failed: {error}"
        raise refusal(pymysql.OperationalError(2059, why), login) from None
    connection.wait_without_limit()
    return connection


def _refuse_missing_socket(login: Login) -> None:
    """Report a missing socket as such: the driver's error is the same for all."""
    unix = login.address.unix
    if not unix:
        return
    try:
        Path(unix.path).stat()
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise refusal(pymysql.OperationalError(2002, why), login) from None


def _is_open(login: Login) -> bool:
    """Whether the connection is unencrypted: the default for a Unix socket."""
    return login.tls == "DISABLED" or (login.tls == "PREFERRED" and bool(login.address.unix))


def _address(login: Login) -> dict[str, Any]:
    address = login.address
    if address.tcp:
        return {"host": address.tcp.host, "port": address.tcp.port}
    assert address.unix  # exactly one of the two is set
    return {"unix_socket": address.unix.path}


def _socket_to_numeric(login: Login) -> socket.socket | None:
    """Connect to the address that the target names beside the host; None lets the driver resolve.

    The host's name is then only compared with the server's certificate.
    """
    tcp = login.address.tcp
    if not tcp or not tcp.numeric:
        return None
    try:
        found = socket.create_connection((tcp.numeric, tcp.port), login.connect_timeout_s)
    except OSError as error:
        where = f"Can't connect to MySQL server on '{tcp.numeric}'"
        raise pymysql.OperationalError(2003, f"{where} ({error})") from error
    found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return found


def _tls_context(login: Login) -> ssl.SSLContext | None:
    """Return the TLS settings; None accepts whatever the server offers."""
    if login.tls == "PREFERRED":
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = login.tls == "VERIFY_IDENTITY"
    context.verify_mode = ssl.CERT_NONE if login.tls == "REQUIRED" else ssl.CERT_REQUIRED
    if login.tls != "REQUIRED":
        with _files_of(login):
            context.load_verify_locations(login.ca) if login.ca else context.load_default_certs()
    return context


def _present_certificate(driver: "pymysql.Connection[Cursor]", login: Login) -> None:
    """Present a client certificate, also with PREFERRED: the driver then creates the context."""
    context: ssl.SSLContext = driver.ctx  # type: ignore[attr-defined]
    with _files_of(login):
        context.load_cert_chain(str(login.certificate), login.key, partial(_refuse_locked, login))


@contextmanager
def _files_of(login: Login) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        files = ", ".join(filter(None, (login.ca, login.certificate, login.key)))
        message = f"cannot use the certificates {files}: {error.strerror or error}"
        raise DbdynoError("tls_failed", message, "check ssl-ca, ssl-cert and ssl-key") from None


def _refuse_locked(login: Login) -> NoReturn:
    """Refuse to supply a passphrase: without this callback, OpenSSL would ask at the terminal."""
    raise locked_key(str(login.key or login.certificate), "name that file as ssl-key")


def endpoint_of(connection: MysqlConnection) -> Endpoint:
    """Return the endpoint of this connection, for the engine."""
    login = connection.login
    is_default = connection.execute(IS_AUTOCOMMIT_DEFAULT).fetchone() == (1,)
    return Endpoint(
        protocol="mysql",
        address=connection.address,
        user=login.user,
        password=login.password or None,
        database=login.database,
        parameters={} if is_default else AUTOCOMMIT,
        tls=_tls(login, connection),
        connect_timeout_ns=login.connect_timeout_s * 1_000_000_000,
    )


def _tls(login: Login, connection: MysqlConnection) -> Tls:
    if not connection.is_encrypted:
        return Tls(mode="disable")
    mode = TLS_MODES[login.tls]
    return Tls(
        mode=mode,
        root_certificates=login.ca if mode != "require" else None,
        certificate=login.certificate,
        key=login.key or login.certificate,
    )


def pinned(_target: str, connection: MysqlConnection) -> str:
    """Return the login that was used, to the address that answered, whatever option files say."""
    return login_url(replace(connection.login, address=connection.address))
