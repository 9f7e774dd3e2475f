"""The targets that sysbench's connection options name, as URLs.

They apply as in sysbench, with its defaults, unless a target is given as for dbdyno. A list of
hosts, ports or sockets names several servers, in sysbench's order: each host with every port. For
PostgreSQL, where sysbench leaves lists to libpq, a list of ports has one for each host.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import product
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
    driver = _driver(arguments)
    first, *further = (_url(driver, one) for one in _each_server(driver, arguments))
    return replace(options, target=first, further_targets=tuple(further))


def _each_server(driver: str, arguments: Mapping[str, str]) -> Iterator[Mapping[str, str]]:
    """Return the options as they would name each server alone, in the order of the lists."""

    def listed(part: str) -> list[str]:
        return arguments.get(f"{driver}_{part}", "").split(",")

    if driver == "mysql" and arguments.get("mysql_socket"):
        for socket in listed("socket"):
            yield {**arguments, "mysql_socket": socket, "mysql_host": "localhost"}
        return
    hosts, ports = listed("host"), listed("port")
    pairs: Iterable[tuple[str, str]]
    if driver == "pgsql" and len(ports) > 1:
        if len(ports) != len(hosts):
            raise DbdynoError(
                code="usage",
                message=f"--pgsql-host names {len(hosts)} hosts and --pgsql-port {len(ports)} "
                "ports",
                hint="Give one port for all hosts, or one for each.",
            )
        pairs = zip(hosts, ports, strict=True)
    else:
        pairs = product(hosts, ports)
    for host, port in pairs:
        named = {f"{driver}_host": host, f"{driver}_port": port}
        yield {**arguments, **{name: text for name, text in named.items() if text}}


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
