"""The plan: everything that the engine needs to know, sent to it as JSON.

Mirrors ``crates/model/src/plan/``, field for field; the engine refuses unknown
fields, so that the two cannot diverge unnoticed. Instants and durations are nanoseconds.
"""

import ipaddress
import re
from typing import Literal, TypeAlias

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from dbdyno.model.generators import Generator

Scalar: TypeAlias = bool | int | float | str | None
Protocol: TypeAlias = Literal["postgresql", "mysql", "odbc"]
QueryMode: TypeAlias = Literal["simple", "extended", "prepared"]
ScriptChoice: TypeAlias = Literal["weighted", "deck"]
Io: TypeAlias = Literal["auto", "uring", "epoll"]
IsolationLevel: TypeAlias = Literal[
    "read-uncommitted", "read-committed", "repeatable-read", "serializable"
]
"""Those of the SQL standard, as the databases' manuals name them."""
TlsMode: TypeAlias = Literal["disable", "allow", "prefer", "require", "verify-ca", "verify-full"]


class UnixSocket(Struct, frozen=True, kw_only=True):
    """A Unix socket; ``path`` is the socket file itself."""

    path: str


class TcpAddress(Struct, frozen=True, kw_only=True):
    """A host name or address (IPv4, IPv6) and a port.

    ``numeric`` is the address to connect to if it is given; the name is then only compared with the
    server's certificate.
    """

    host: str
    port: int
    numeric: str | None = None


def is_loopback(host: str) -> bool:
    """Whether this host name or address is a loopback one, so that traffic stays on this host."""
    try:
        return host.lower() == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


_ODBC_SERVER = re.compile(
    r"(?:^|;)\s*(?:server|servername|host|hostname|socket)\s*=\s*\{?(?:tcp:)?"
    r"(?P<host>\[[^\]]*\]|::1|[^,:;}\\]*)",
    re.IGNORECASE,
)
"""What most drivers call the server or its socket: SQL Server's may be followed by a port or an
instance."""


class OdbcAddress(Struct, frozen=True, kw_only=True):
    """Attributes of an ODBC connection string: the destination, without the credentials."""

    attributes: str

    @property
    def names_this_host(self) -> bool:
        """Whether they name a server by a loopback address or a socket; a DSN may do so unseen."""
        hosts = [found["host"].strip(" []") for found in _ODBC_SERVER.finditer(self.attributes)]
        return any(
            is_loopback(host) or host.startswith(("127.", "/")) or host in (".", "(local)")
            for host in hosts
        )


class Address(Struct, frozen=True, kw_only=True):
    """Where a server listens: exactly one of the fields is set."""

    unix: UnixSocket | UnsetType = UNSET
    tcp: TcpAddress | UnsetType = UNSET
    odbc: OdbcAddress | UnsetType = UNSET

    @property
    def is_on_this_host(self) -> bool:
        """Whether traffic stays on this host: a Unix socket, or a loopback address."""
        if self.tcp:
            return is_loopback(self.tcp.numeric or self.tcp.host)
        return bool(self.unix) or bool(self.odbc and self.odbc.names_this_host)

    @property
    def elsewhere(self) -> "Address":
        """How other hosts find it: what a host calls itself is often a loopback address there."""
        if self.tcp and self.tcp.numeric and is_loopback(self.tcp.numeric):
            return replace(self, tcp=replace(self.tcp, numeric=None))
        return self


class Tls(Struct, frozen=True, kw_only=True):
    """TLS, with libpq's names for the modes; the other fields are paths of PEM files.

    The modes of the mysql client's ``ssl-mode`` correspond as follows: DISABLED is ``disable``,
    PREFERRED ``prefer``, REQUIRED ``require`` (without root certificates, which would be checked),
    VERIFY_CA ``verify-ca`` and VERIFY_IDENTITY ``verify-full``.
    """

    mode: TlsMode = "disable"
    root_certificates: str | None = None
    certificate: str | None = None
    key: str | None = None


class Endpoint(Struct, frozen=True, kw_only=True):
    """A server and how to log in to it. ``password`` is never stored.

    ``parameters`` are set at the start of each session: as PostgreSQL's startup parameters, or as
    session variables of MySQL. ``session_statements`` are what each session of a run starts with,
    over other protocols than PostgreSQL's. ``further_addresses`` are servers that take the same
    login: connections are spread on all of them in turn. ``standby_addresses`` are those to which
    clients have a further connection, for the scripts that run there. ``read_only_query`` is set if
    first connections are only for servers that take writes: it yields ``off`` or 0 there.
    """

    protocol: Protocol = "postgresql"
    address: Address
    further_addresses: list[Address] = []
    standby_addresses: list[Address] | UnsetType = UNSET
    read_only_query: str | UnsetType = UNSET
    user: str
    password: str | None = None
    database: str
    parameters: dict[str, str] = {}
    session_statements: tuple[str, ...] | UnsetType = UNSET
    tls: Tls = Tls()
    connect_timeout_ns: int = 10_000_000_000

    @property
    def elsewhere(self) -> "Endpoint":
        """The same as other hosts find it."""
        standbys = self.standby_addresses
        return replace(
            self,
            address=self.address.elsewhere,
            further_addresses=[each.elsewhere for each in self.further_addresses],
            standby_addresses=standbys and [each.elsewhere for each in standbys],
        )


class Pacing(Struct, frozen=True, kw_only=True):
    """The pauses of a client around a transaction, as of a user at a terminal.

    The input is entered before it is due; the answer is read after it, for an exponential time that
    is cut off at ten times its mean.
    """

    keying_ns: int
    think_mean_ns: int


class Script(Struct, frozen=True, kw_only=True):
    """What one client does in one transaction, in pgbench's language or in Lua.

    ``as_text``: the commands whose values are written into their text, because no parameter is
    possible there, and why; by index, which is text, as the keys of JSON are. ``parameter_types``:
    the types that PostgreSQL infers for the parameters of commands, as far as it was asked.
    ``language`` is set for the Lua of a workload, whose commands are the statements it declares.
    ``pacing``: in a closed loop, the pauses around its transactions. With ``is_deferred`` its
    clients do not wait for them: an executor executes them. ``is_on_standby``: whether it runs on
    a standby of the endpoint.
    """

    name: str
    weight: int = 1
    text: str
    language: Literal["lua"] | UnsetType = UNSET
    as_text: dict[str, str] = {}
    parameter_types: dict[str, tuple[int, ...]] = {}
    pacing: Pacing | UnsetType = UNSET
    is_deferred: bool | UnsetType = UNSET
    is_on_standby: bool | UnsetType = UNSET


class ClientGroup(Struct, frozen=True, kw_only=True):
    """Clients that choose among scripts of their own: the next ones, in the order of the groups."""

    clients: int
    scripts: int
    choice: ScriptChoice | UnsetType = UNSET


class Statement(Struct, frozen=True, kw_only=True):
    """A statement of a script that has variables; ``sql`` is the text as it would be prepared."""

    script: int
    index: int
    line: int
    source: str
    sql: str
    parameters: int
    as_text: str | None


class Think(Struct, frozen=True, kw_only=True):
    """A pause between transactions of one client; mean 0 for none."""

    law: Literal["constant", "exponential"] = "constant"
    mean_ns: int = 0


class ClosedArrivals(Struct, frozen=True, kw_only=True):
    """Each client starts its next transaction when its last one is done, after a pause."""

    think: Think = Think()


class OpenArrivals(Struct, frozen=True, kw_only=True):
    """Transactions become due on a schedule; the stages give the rate per second."""

    law: Literal["poisson", "constant"] = "poisson"


class Arrivals(Struct, frozen=True, kw_only=True):
    """When transactions become due: exactly one of the fields is set."""

    closed: ClosedArrivals | UnsetType = UNSET
    open: OpenArrivals | UnsetType = UNSET


class Stage(Struct, frozen=True, kw_only=True):
    """A part of the run with its own load.

    ``duration_ns`` is None only for the sole stage of a run that counts transactions; ``clients``
    is None for all clients; ``rate_tps`` is for an open loop.
    """

    duration_ns: int | None
    clients: int | None = None
    rate_tps: float | None = None


class Retry(Struct, frozen=True, kw_only=True):
    """Retries after serialization failures and deadlocks; ``tries_max`` 0 means no limit."""

    tries_max: int = 1
    time_max_ns: int | None = None


class Lua(Struct, frozen=True, kw_only=True):
    """What a sysbench script needs besides its text.

    ``command`` is ``run``, or a command that each client executes once. ``arguments`` are options
    by name, the script's own and sysbench's general ones; ``modules`` are those that it may
    require.
    """

    command: str = "run"
    path: str
    arguments: dict[str, str] = {}
    modules: dict[str, str] = {}
    allow_unsafe: bool = False


class Plan(Struct, frozen=True, kw_only=True):
    """One measured load on one target. The fields are explained in the Rust mirror."""

    endpoint: Endpoint
    query_mode: QueryMode = "prepared"
    scripts: list[Script]
    script_choice: ScriptChoice | UnsetType = UNSET
    groups: list[ClientGroup] | UnsetType = UNSET
    variables: dict[str, Scalar] = {}
    seed: int
    clients: int
    executors: int | UnsetType = UNSET
    threads: int
    own_threads: list[int] | UnsetType = UNSET
    io: Io = "auto"
    arrivals: Arrivals
    stages: list[Stage]
    transactions_per_client: int | None = None
    warmup_ns: int = 3_000_000_000
    interval_ns: int = 1_000_000_000
    activity_interval_ns: int | None = None
    latency_limit_ns: int | None = None
    reconnect_each_transaction: bool = False
    retry: Retry = Retry()
    stall_limit_ns: int = 60_000_000_000
    ends_on_hopeless_script: bool = True
    allow_shell: bool = False
    reports: Literal["counts", "transactions"] | UnsetType = UNSET
    lua: Lua | None = None

    @property
    def requesting_clients(self) -> int:
        """The number of clients that have transactions of their own: all but the executors."""
        return self.clients - (self.executors or 0)


ColumnType: TypeAlias = (
    Literal["int4", "int8", "boolean", "text", "json", "date", "timestamp"]
    | dict[Literal["decimal"], dict[Literal["scale"], int]]
)


class LoadColumn(Struct, frozen=True, kw_only=True):
    """One column: its type and the generator of its values."""

    kind: ColumnType
    generator: Generator


class LoadTable(Struct, frozen=True, kw_only=True):
    """One table's rows; ``copy`` is the statement that receives them.

    On PostgreSQL that is a ``COPY … FROM STDIN (FORMAT binary)``. On MySQL it is a ``LOAD DATA
    LOCAL INFILE 'dbdyno' INTO TABLE … CHARACTER SET utf8mb4`` or, if the server forbids that
    (``local_infile``), an ``INSERT INTO … VALUES``, to which rows are appended as literals.
    ``before`` runs first in each transaction that loads a piece (``pieces_max`` is 1 if the rows
    must be loaded in one transaction, as ``COPY FREEZE`` after ``TRUNCATE`` requires). With
    ``per``, each of ``rows`` ancestors has so many rows, and ``rows_total`` are to be expected.
    ``loaded`` are the numbers of rows, or of ancestors, that are there already, each range from one
    to before another, and ``note`` notes such a range, in the transaction of its rows.
    """

    name: str
    before: list[str] = []
    copy: str
    rows: int
    per: tuple[Generator, ...] = ()
    rows_total: int
    pieces_max: int
    loaded: list[tuple[int, int]] = []
    note: str = ""
    columns: list[LoadColumn]


class LoadPlan(Struct, frozen=True, kw_only=True):
    """Tables to fill by the protocol's bulk method, on ``jobs`` concurrent connections.

    Of these, an engine that shares the load with others has ``own_jobs``, by number.
    """

    endpoint: Endpoint
    seed: int
    jobs: int
    own_jobs: list[int] | UnsetType = UNSET
    tables: list[LoadTable]
