"""How to log in to a ``mysql://`` target: from the URL, then option files, then the environment.

The order is that of the mysql client. Opens no connection; no error quotes the target, which may
contain a password anywhere.
"""

import getpass
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, TypeAlias, get_args
from urllib.parse import parse_qsl, unquote, urlsplit

from msgspec import Struct

from dbdyno.databases.mysql.driver.option_files import Option, read_option_files
from dbdyno.databases.passwords import refuse_unencoded
from dbdyno.errors import DbdynoError, nearest
from dbdyno.model.plan import Address, TcpAddress, UnixSocket

TlsSetting: TypeAlias = Literal["DISABLED", "PREFERRED", "REQUIRED", "VERIFY_CA", "VERIFY_IDENTITY"]
TLS_SETTINGS: tuple[TlsSetting, ...] = get_args(TlsSetting)

PORT = 3306
CONNECT_TIMEOUT_S = 10
NUMBERS_MAX = {"port": 65_535, "connect-timeout": 31_536_000}  # the driver waits for up to a year
SOCKETS = (
    "/run/mysqld/mysqld.sock",
    "/var/lib/mysql/mysql.sock",
    "/tmp/mysql.sock",
)
NO_DEFAULTS = "no-defaults"
OFF = ("0", "off", "false")  # values that switch an option off; without a value it is on
QUERY_NAMES = (
    *("socket", "hostaddr", "ssl-mode", "ssl-ca", "ssl-cert", "ssl-key", "connect-timeout"),
    NO_DEFAULTS,
)
PLACE = frozenset({"host", "port", "database", "user", "socket"})
# Environment variables of the mysql client, by the names of its options.
VARIABLES = {
    "MYSQL_HOST": "host",
    "MYSQL_TCP_PORT": "port",
    "MYSQL_UNIX_PORT": "socket",
    "MYSQL_PWD": "password",
}
HINT = "write mysql://user@host:port/database?socket=PATH&ssl-mode=MODE; percent-encode the rest"


class Login(Struct, frozen=True, kw_only=True):
    """A server and how to log in to it, completely resolved."""

    address: Address
    address_origin: str = ""
    """The option file or variable that names the address, if the target itself does not."""
    user: str
    password: str
    database: str
    tls: TlsSetting
    ca: str | None = None
    certificate: str | None = None
    key: str | None = None
    connect_timeout_s: int = CONNECT_TIMEOUT_S


def login_of(target: str, environment: Mapping[str, str] = os.environ) -> Login:
    """Return what the target says, completed by option files and environment."""
    given = _given(target)
    found = {} if NO_DEFAULTS in given else _defaults(environment)
    options = {name: option.value for name, option in found.items()} | given
    origins = {name: option.origin for name, option in found.items() if name not in given}
    _refuse_undecodable(options, origins)
    address = _address(given, options, origins)
    return Login(
        address=address,
        address_origin=origins.get("socket" if address.unix else "host", ""),
        user=options.get("user") or _account_name(),
        password=options.get("password", ""),
        database=options.get("database", ""),
        tls=_tls_setting(options, origins),
        ca=options.get("ssl-ca"),
        certificate=options.get("ssl-cert"),
        key=options.get("ssl-key"),
        connect_timeout_s=_number(options, origins, "connect-timeout", CONNECT_TIMEOUT_S),
    )


def place_in(target: str) -> Mapping[str, str]:
    """Return the parts of a URL that say which database it is, as which user."""
    return {name: part for name, part in _given(target).items() if name in PLACE}


def parameters_in(target: str) -> Mapping[str, str]:
    """Return the URL's further parameters; none of them is a secret."""
    return {name: part for name, part in _given(target).items() if name not in {*PLACE, "password"}}


def _refuse_undecodable(options: Mapping[str, str], origins: Mapping[str, str]) -> None:
    """Refuse text for the server that is none; the names of files may be any bytes."""
    for name in ("user", "password", "database", "host"):
        if any("\ud800" <= each <= "\udfff" for each in options.get(name, "")):
            raise DbdynoError("bad_target", f"{_named(name, origins)} is not UTF-8 text", HINT)


def _account_name() -> str:
    """Return the name of this account, as clients do when no user is named."""
    try:
        return getpass.getuser()
    except (KeyError, OSError) as error:
        message = "the target names no user, and this account has no name"
        raise DbdynoError("bad_target", message, HINT) from error


def _defaults(environment: Mapping[str, str]) -> dict[str, Option]:
    given = {
        option: Option(environment[name], name)
        for name, option in VARIABLES.items()
        if name in environment
    }
    return given | read_option_files(environment)


def _given(target: str) -> dict[str, str]:
    """Return the non-empty parts of the URL, by the names of options."""
    refuse_unencoded(target, ends_at_last_at=True)
    try:
        parts = urlsplit(target)
        query = dict(parse_qsl(parts.query, keep_blank_values=True, errors="surrogateescape"))
    except ValueError:
        raise DbdynoError("bad_target", "cannot read the target: it is not a URL", HINT) from None
    try:
        port = parts.port
    except ValueError:
        message = f"cannot read the target: its port {_wanted('port')}"
        raise DbdynoError("bad_target", message, HINT) from None
    _refuse_unknown(query)
    given = {
        "user": parts.username,
        "password": parts.password,
        "host": parts.hostname,
        "port": str(port) if port else None,
        "database": parts.path.removeprefix("/"),
    }
    decoded = {
        name: unquote(part, errors="surrogateescape") for name, part in given.items() if part
    }
    return decoded | query


def _refuse_unknown(query: Mapping[str, str]) -> None:
    for name in query:
        if name not in QUERY_NAMES:
            message = f"a target has no parameter {name!r}"
            raise DbdynoError("bad_target", message, nearest(name, QUERY_NAMES))


def _address(
    given: Mapping[str, str], options: Mapping[str, str], origins: Mapping[str, str]
) -> Address:
    """Return a socket if one is named or the host is local; a port in the target means TCP.

    ``hostaddr`` is libpq's word for where to connect to, in place of one of the host's addresses.
    """
    if socket := given.get("socket"):
        return Address(unix=UnixSocket(path=socket))
    host = options.get("host", "localhost")
    if host == "localhost" and "port" not in given:
        return Address(unix=UnixSocket(path=options.get("socket") or _usual_socket()))
    port = _number(options, origins, "port", PORT)
    return Address(tcp=TcpAddress(host=host, port=port, numeric=given.get("hostaddr")))


def _usual_socket() -> str:
    return next((path for path in SOCKETS if Path(path).exists()), SOCKETS[0])


def _tls_setting(options: Mapping[str, str], origins: Mapping[str, str]) -> TlsSetting:
    """Return MySQL's ssl-mode, else that of MariaDB's options; a CA given implies verification."""
    if "ssl-mode" in options:
        return _known_tls_setting(options["ssl-mode"], _named("ssl-mode", origins))
    switches = {name: value.lower() not in OFF for name, value in options.items()}
    if switches.get("skip-ssl") or switches.get("disable-ssl") or not switches.get("ssl", True):
        return "DISABLED"
    if switches.get("ssl-verify-server-cert"):
        return "VERIFY_IDENTITY"
    if "ssl-ca" in options:
        return "VERIFY_CA"
    return "REQUIRED" if "ssl" in options else "PREFERRED"


def _known_tls_setting(text: str, named: str) -> TlsSetting:
    for setting in TLS_SETTINGS:
        if setting == text.upper():
            return setting
    raise DbdynoError("bad_target", f"{named} cannot be {text}", f"it is {', '.join(TLS_SETTINGS)}")


def _named(name: str, origins: Mapping[str, str]) -> str:
    """Name an option, and its origin if it is not in the target."""
    return f"{name} ({origins[name]})" if name in origins else name


def _number(options: Mapping[str, str], origins: Mapping[str, str], name: str, default: int) -> int:
    """Parse a number; zero means the default, as everywhere with these servers."""
    text = options.get(name, "0")
    if not re.fullmatch(r"\d{1,18}", text, re.ASCII) or int(text) > NUMBERS_MAX[name]:
        raise DbdynoError("bad_target", f"{_named(name, origins)} {_wanted(name)}", HINT)
    return int(text) or default


def _wanted(name: str) -> str:
    return f"must be a number up to {NUMBERS_MAX[name]}"
