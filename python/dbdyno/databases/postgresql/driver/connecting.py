"""Control connections: opened by libpq's rules, and translated for the engine.

libpq resolves everything (URLs, ``PG*`` variables, service files, passfiles, several hosts). The
result is read back from the live connection, so that the load goes to the very server that
answered. Nothing here prints a password.
"""

import os
import re
from collections.abc import Container, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import psycopg
from psycopg import Connection, conninfo
from psycopg.pq import PGconn, abc as pq

from dbdyno.databases.passwords import locked_key, refuse_unencoded
from dbdyno.databases.postgresql.driver.connection import PostgresqlConnection
from dbdyno.databases.postgresql.driver.refusals import malformed, refusal
from dbdyno.errors import DbdynoError
from dbdyno.home import user_folder
from dbdyno.model.plan import Address, Endpoint, TcpAddress, Tls, TlsMode, UnixSocket

APPLICATION_NAME = "dbdyno"
CONNECT_TIMEOUT_S = 10
CONNECT_TIMEOUT_MAX_S = 365 * 24 * 3600
"""libpq takes any number; the engine counts nanoseconds in 64 bits."""
NO_PORT = 0
UTF8 = frozenset({"utf8", "unicode"})
ENCODING = re.compile(r"client[_-]encoding\s*=\s*'?([\w-]+)", re.IGNORECASE)
# Conditions on the login that the engine does not check: it would log in where they do not hold.
UNCHECKED = ("require_auth", "sslcrl", "sslcrldir")
PLACE = frozenset({"host", "port", "dbname", "user"})
PARAMETERS = frozenset(
    {
        *("service", "passfile", "hostaddr", "connect_timeout", "options"),
        *("sslmode", "sslrootcert", "sslcert", "sslkey", "gssencmode", "target_session_attrs"),
    }
)
# What libpq reads only from the environment; "default" means the server's default.
ENVIRONMENT = {"PGTZ": "timezone", "PGDATESTYLE": "datestyle", "PGGEQO": "geqo"}


def open_connection(target: str) -> PostgresqlConnection:
    """Open a control connection to a URL, a conninfo string, or, if empty, libpq's default.

    Text is exchanged as UTF-8, as by the engine, whatever the encoding of the role or database.
    The driver prepares no statements: behind a pooler, the next session would not have them, and
    after a rollback the driver deallocates all statements, even those that it did not prepare.
    """
    given = _given(target)
    resolved = _resolved(given)
    _refuse_other_encoding(resolved)
    required = {"application_name": APPLICATION_NAME, "client_encoding": "UTF8"}
    patience = {} if "connect_timeout" in resolved else {"connect_timeout": CONNECT_TIMEOUT_S}
    dsn = conninfo.make_conninfo("", **{**given, **patience, **required})
    try:
        return PostgresqlConnection.connect(dsn, autocommit=True, prepare_threshold=None)
    except psycopg.Error as error:
        raise refusal(error, resolved) from None


def _given(target: str) -> Mapping[str, Any]:
    refuse_unencoded(target)
    try:
        return conninfo.conninfo_to_dict(target)
    except (psycopg.ProgrammingError, UnicodeDecodeError) as error:
        raise malformed(target, error) from None


def _resolved(given: Mapping[str, Any]) -> dict[str, str]:
    """Return the options that libpq would use, also those of the environment and of service files.

    Nothing is connected to: libpq reads everything, and then refuses the port.
    """
    dsn = conninfo.make_conninfo("", **{**given, "port": NO_PORT})
    refused = PGconn.connect_start(dsn.encode())
    try:
        return _options(refused)
    finally:
        refused.finish()


def _refuse_other_encoding(options: Mapping[str, str]) -> None:
    """Refuse an encoding that neither this connection nor the load's would use."""
    encodings = [options.get("client_encoding", ""), *ENCODING.findall(options.get("options", ""))]
    for encoding in filter(None, encodings):
        if encoding.lower().replace("-", "").replace("_", "") in UTF8:
            continue
        raise DbdynoError(
            "bad_target",
            f"dbdyno exchanges text as UTF-8, and not as client_encoding={encoding} says",
            "leave client_encoding out of target, service file and PGCLIENTENCODING; a database "
            "whose text is not UTF-8 (SQL_ASCII with other bytes) cannot be read",
        )


def endpoint_of(connection: Connection) -> Endpoint:
    """Return the endpoint of this connection, for the engine."""
    options = _options(connection.pgconn)
    tls = _tls(connection, options)
    _refuse_unchecked(options, tls)
    info = connection.info
    parameters = {"application_name": APPLICATION_NAME, **_environment()}
    if options.get("options"):
        parameters["options"] = options["options"]
    return Endpoint(
        address=_address(info.host, info.port, info.hostaddr),
        user=info.user,
        password=info.password or None,
        database=info.dbname,
        parameters=parameters,
        tls=tls,
        connect_timeout_ns=_timeout_s(options) * 1_000_000_000,
    )


def _refuse_unchecked(options: Mapping[str, str], tls: Tls) -> None:
    """Refuse conditions on the login that would hold for the control connection alone."""
    given = [*_unchecked(options, tls)]
    if given:
        raise DbdynoError(
            "bad_target",
            f"dbdyno cannot hold the load's connections to {' and '.join(given)}",
            "Leave it out, or move the file away; sslmode=verify-full checks every connection.",
        )


def _unchecked(options: Mapping[str, str], tls: Tls) -> Iterator[str]:
    for name in UNCHECKED:
        if name in options:
            yield f"{name}={options[name]}"
    if options.get("channel_binding") == "require":
        yield "channel_binding=require"
    revoked = _default_file("root.crl")
    if revoked and tls.root_certificates and not {"sslcrl", "sslcrldir"} & {*options}:
        yield f"the revoked certificates in {revoked}"


def place_in(target: str) -> Mapping[str, str]:
    """Return the options of a target that say which database it is, as which user."""
    return _options_in(target, PLACE)


def parameters_in(target: str) -> Mapping[str, str]:
    """Return the target's further options, as far as they are known not to be secrets."""
    return _options_in(target, PARAMETERS)


def _options_in(target: str, names: Container[str]) -> dict[str, str]:
    return {name: str(value) for name, value in _given(target).items() if name in names}


def pinned(target: str, connection: Connection) -> str:
    """Return the target narrowed to the host that answered, in case it names several.

    Over TCP to the very address: a host name may have several, which may be different servers.
    """
    info = connection.info
    address = {"hostaddr": info.hostaddr} if info.hostaddr else {}
    return conninfo.make_conninfo(target, host=info.host, port=info.port, **address)


def with_settings(target: str, settings: Mapping[str, str]) -> str:
    """Return the target whose sessions begin with these settings, after its own options."""
    own = _resolved(_given(target)).get("options", "")
    further = [f"{name}={value}".replace(" ", r"\ ") for name, value in settings.items()]
    options = " ".join([own, *(f"-c {setting}" for setting in further)])
    return conninfo.make_conninfo(target, options=options)


def url_of(endpoint: Endpoint) -> str:
    """Return the endpoint as a URL without the password: may be shown and stored."""
    user, database = quote(endpoint.user, safe=""), quote(endpoint.database, safe="")
    address = endpoint.address
    if address.tcp:
        host = f"[{address.tcp.host}]" if ":" in address.tcp.host else address.tcp.host
        return f"postgresql://{user}@{host}:{address.tcp.port}/{database}"
    assert address.unix  # exactly one of the two is set
    folder, _, socket = address.unix.path.rpartition("/")
    place = urlencode({"host": folder, "port": socket.rpartition(".")[2]}, safe="/")
    return f"postgresql://{user}@/{database}?{place}"


def client_environment(endpoint: Endpoint, _folder: Path) -> dict[str, str | None]:
    """Return libpq's variables for the endpoint."""
    found = {
        "PGSERVICE": None,
        "PGHOSTADDR": None,
        "PGUSER": endpoint.user,
        "PGDATABASE": endpoint.database,
    }
    if endpoint.password is not None:
        found["PGPASSWORD"] = endpoint.password
    if endpoint.address.tcp:
        found |= {"PGHOST": endpoint.address.tcp.host, "PGPORT": str(endpoint.address.tcp.port)}
    elif endpoint.address.unix:
        path = Path(endpoint.address.unix.path)
        found |= {"PGHOST": str(path.parent), "PGPORT": path.suffix.removeprefix(".")}
    return found


def _environment() -> dict[str, str]:
    given = {name: os.environ.get(variable, "") for variable, name in ENVIRONMENT.items()}
    return {name: value for name, value in given.items() if value.lower() not in {"", "default"}}


def _options(connection: pq.PGconn) -> dict[str, str]:
    """Return every option of the connection that has a value, given or by default."""
    return {
        option.keyword.decode(): option.val.decode() for option in connection.info if option.val
    }


def _address(host: str, port: int, numeric: str) -> Address:
    if host.startswith("/"):
        return Address(unix=UnixSocket(path=f"{host}/.s.PGSQL.{port}"))
    return Address(tcp=TcpAddress(host=host, port=port, numeric=numeric))


def _timeout_s(options: dict[str, str]) -> int:
    """Return ``connect_timeout``; libpq takes 0 and less as infinite, which no load should wait."""
    seconds = int(float(options.get("connect_timeout", CONNECT_TIMEOUT_S)))  # as the driver does
    return min(seconds, CONNECT_TIMEOUT_MAX_S) if seconds > 0 else CONNECT_TIMEOUT_S


def _tls(connection: Connection, options: dict[str, str]) -> Tls:
    """Return the TLS mode that resulted: ``prefer`` and ``allow`` are replaced by the outcome."""
    if not connection.pgconn.ssl_in_use:
        return Tls(mode="disable")
    roots = options.get("sslrootcert") or _default_file("root.crt")
    key = options.get("sslkey") or _default_file("postgresql.key")
    if key and options.get("sslpassword"):  # libpq never asks for a passphrase: else none is needed
        raise locked_key(key, "name that file as sslkey, without sslpassword")
    return Tls(
        mode=_tls_mode(options.get("sslmode", "prefer"), verifiable=roots is not None),
        root_certificates=None if roots == "system" else roots,
        certificate=options.get("sslcert") or _default_file("postgresql.crt"),
        key=key,
    )


def _tls_mode(wanted: str, *, verifiable: bool) -> TlsMode:
    """Follow libpq's rule: with root certificates available, ``require`` verifies the chain."""
    if wanted == "verify-full":
        return "verify-full"
    if wanted == "verify-ca" or (wanted == "require" and verifiable):
        return "verify-ca"
    return "require"


def _default_file(name: str) -> str | None:
    """Return the path of a file at libpq's default location, if it exists."""
    own = user_folder()
    path = own / ".postgresql" / name if own else None
    return str(path) if path and path.exists() else None
