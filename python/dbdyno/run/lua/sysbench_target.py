"""The targets that sysbench's connection options name, as URLs.

They apply as in sysbench, with its defaults, unless a target is given as for dbdyno. A list of
hosts, ports or sockets names several servers, in sysbench's order: each host with every port. For
PostgreSQL, where sysbench leaves lists to libpq, a list of ports has one for each host.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Self
from urllib.parse import quote, urlencode

from dbdyno.errors import DbdynoError
from dbdyno.run.options.run_options import RunOptions

_PARTS = ("host", "port", "user", "password", "db")
DRIVERS = ("mysql", "pgsql")
_MYSQL = {"mysql_socket", "mysql_ssl", "mysql_ssl_ca", "mysql_ssl_cert", "mysql_ssl_key"}
CONNECTION_OPTIONS = frozenset(
    {f"{driver}_{part}" for driver in DRIVERS for part in _PARTS} | _MYSQL | {"pgsql_sslmode"}
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
    named = arguments.get("db_driver")
    if named not in (None, *DRIVERS):
        raise DbdynoError(
            code="usage",
            message=f'--db-driver cannot be "{named}"',
            hint="The drivers are mysql and pgsql.",
        )
    is_pgsql = any(name.startswith("pgsql_") for name in arguments)
    driver = named or ("pgsql" if is_pgsql else "mysql")
    first, *further = (one.url() for one in _Connection(driver, arguments).each_server())
    return replace(options, target=first, further_targets=tuple(further))


@dataclass(frozen=True)
class _Connection:
    """How the options of one driver name a server, or several."""

    driver: str
    arguments: Mapping[str, str]

    def part(self, name: str, default: str = "") -> str:
        """Return an option of this driver."""
        return self.arguments.get(f"{self.driver}_{name}", default)

    def each_server(self) -> Iterator[Self]:
        """Yield the options as they would name each server alone, in the order of the lists."""
        if self.driver == "mysql" and self.part("socket"):
            for socket in self.part("socket").split(","):
                yield self._with(socket=socket, host="localhost")
            return
        hosts, ports = self.part("host").split(","), self.part("port").split(",")
        pairs: Iterable[tuple[str, str]] = product(hosts, ports)
        if self.driver == "pgsql" and len(ports) > 1:
            if len(ports) != len(hosts):
                raise DbdynoError(
                    code="usage",
                    message=f"--pgsql-host names {len(hosts)} hosts and --pgsql-port {len(ports)} "
                    "ports",
                    hint="Give one port for all hosts, or one for each.",
                )
            pairs = zip(hosts, ports, strict=True)
        for host, port in pairs:
            named = {"host": host, "port": port}
            yield self._with(**{name: text for name, text in named.items() if text})

    def _with(self, **parts: str) -> Self:
        named = {f"{self.driver}_{name}": text for name, text in parts.items()}
        return replace(self, arguments={**self.arguments, **named})

    def url(self) -> str:
        """Return the target of a single server."""
        is_mysql = self.driver == "mysql"
        scheme = "mysql" if is_mysql else "postgresql"
        password = self.part("password")
        login = quote(self.part("user", "sbtest"), safe="")
        login += f":{quote(password, safe='')}" if password else ""
        more = self.mysql_query() if is_mysql else {}
        if not is_mysql and (mode := self.part("sslmode")):
            more["sslmode"] = mode
        host, path = self.part("host", "localhost"), quote(self.part("db", "sbtest"), safe="")
        if host.startswith("/"):  # libpq: the folder of a Unix socket
            more["host"], host = host, ""
        query = f"?{urlencode(more)}" if more else ""
        where = f"[{host}]" if ":" in host else host
        # As in the client library: for MySQL, localhost is the socket, whatever the port.
        is_socket = is_mysql and host == "localhost"
        port = f":{port}" if (port := self.part("port")) and not is_socket else ""
        return f"{scheme}://{login}@{where}{port}/{path}{query}"

    def mysql_query(self) -> dict[str, str]:
        """Return the parameters of a MySQL target: socket and TLS."""
        more = {}
        if socket := self.part("socket"):
            more["socket"] = socket
        if "mysql_ssl" in self.arguments:
            setting = self.part("ssl")
            more["ssl-mode"] = _SSL_MODES.get(setting.lower(), setting.upper())
        for name in ("ssl_ca", "ssl_cert", "ssl_key"):
            if path := self.part(name):
                more[name.replace("_", "-")] = path
        return more
