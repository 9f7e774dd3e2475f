"""The target that sysbench's connection options name, as a URL.

They apply as in sysbench, with its defaults, unless a target is given as for dbdyno.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from urllib.parse import quote, urlencode

from dbdyno.errors import DbdynoError
from dbdyno.run.options import RunOptions

_PARTS = ("host", "port", "user", "password", "db")
_MYSQL = {"mysql_socket", "mysql_ssl", "mysql_ssl_ca", "mysql_ssl_cert", "mysql_ssl_key"}
CONNECTION_OPTIONS = frozenset(
    {f"{driver}_{part}" for driver in ("mysql", "pgsql") for part in _PARTS}
    | _MYSQL
    | {"pgsql_sslmode"}
)
_SSL_MODES = {"on": "REQUIRED", "off": "DISABLED", "": "REQUIRED"}


def target_of(
    options: RunOptions, arguments: Mapping[str, str], say: Callable[[str], None]
) -> RunOptions:
    """Return the options with a target, if sysbench's options name one."""
    given = sorted(name for name in arguments if name in CONNECTION_OPTIONS | {"db_driver"})
    if not given:
        return options
    if options.target is not None or options.server is not None:
        names = ", ".join(f"--{name.replace('_', '-')}" for name in given)
        dbdynos = "--target" if options.target else "--server"
        say(f"{dbdynos} overrides {names}")
        return options
    return replace(options, target=_url(_driver(arguments), arguments))


def _driver(arguments: Mapping[str, str]) -> str:
    named = arguments.get("db_driver")
    if named is None:
        return "pgsql" if any(name.startswith("pgsql_") for name in arguments) else "mysql"
    if named not in ("mysql", "pgsql"):
        raise DbdynoError(
            code="usage",
            message=f'--db-driver cannot be "{named}"',
            hint="The drivers are mysql and pgsql.",
        )
    return named


def _url(driver: str, arguments: Mapping[str, str]) -> str:
    def part(name: str, default: str) -> str:
        return arguments.get(f"{driver}_{name}", default)

    scheme = "mysql" if driver == "mysql" else "postgresql"
    password = part("password", "")
    login = quote(part("user", "sbtest"), safe="")
    login += f":{quote(password, safe='')}" if password else ""
    more = _mysql_query(arguments) if driver == "mysql" else _pgsql_query(arguments)
    host, path = part("host", "localhost"), quote(part("db", "sbtest"), safe="")
    if host.startswith("/"):  # libpq: the folder of a Unix socket
        more["host"], host = host, ""
    query = f"?{urlencode(more)}" if more else ""
    where = f"[{host}]" if ":" in host else host
    # As in the client library: for MySQL, localhost is the socket, whatever the port.
    is_socket = driver == "mysql" and host == "localhost"
    port = f":{port}" if (port := part("port", "")) and not is_socket else ""
    return f"{scheme}://{login}@{where}{port}/{path}{query}"


def _mysql_query(arguments: Mapping[str, str]) -> dict[str, str]:
    more = {}
    if socket := arguments.get("mysql_socket"):
        more["socket"] = socket
    if "mysql_ssl" in arguments:
        setting = arguments["mysql_ssl"]
        more["ssl-mode"] = _SSL_MODES.get(setting.lower(), setting.upper())
    for name in ("ssl_ca", "ssl_cert", "ssl_key"):
        if path := arguments.get(f"mysql_{name}"):
            more[name.replace("_", "-")] = path
    return more


def _pgsql_query(arguments: Mapping[str, str]) -> dict[str, str]:
    mode = arguments.get("pgsql_sslmode")
    return {"sslmode": mode} if mode else {}
