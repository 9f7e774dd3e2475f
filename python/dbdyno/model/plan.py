"""The plan: everything the engine needs to know, sent to it as JSON.

Mirrors ``crates/model/src/plan.rs`` and what is below it, field for field; the engine refuses
a field it does not know, so the two cannot drift apart in silence. Instants and spans are
nanoseconds.
"""

import ipaddress
from typing import Literal, TypeAlias

from msgspec import UNSET, Struct, UnsetType

Scalar: TypeAlias = bool | int | float | str | None
Protocol: TypeAlias = Literal["postgresql", "mysql", "odbc"]
QueryMode: TypeAlias = Literal["simple", "extended", "prepared"]
Io: TypeAlias = Literal["auto", "uring", "epoll"]
TlsMode: TypeAlias = Literal["disable", "allow", "prefer", "require", "verify-ca", "verify-full"]


class UnixSocket(Struct, frozen=True, kw_only=True):
    """A Unix socket; ``path`` is the socket file itself."""

    path: str


class TcpAddress(Struct, frozen=True, kw_only=True):
    """A host name or address (IPv4, IPv6) and a port.

    ``numeric`` is the address to connect to where it is not left to the name, which then only
    stands in certificates.
    """

    host: str
    port: int
    numeric: str | None = None


def is_loopback(host: str) -> bool:
    """Whether what is sent to that host or address stays within this machine."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class OdbcAddress(Struct, frozen=True, kw_only=True):
    """Attributes of an ODBC connection string: where it leads, not who logs in."""

    attributes: str


class Address(Struct, frozen=True, kw_only=True):
    """Where a server listens: exactly one of them is set."""

    unix: UnixSocket | UnsetType = UNSET
    tcp: TcpAddress | UnsetType = UNSET
    odbc: OdbcAddress | UnsetType = UNSET


class Tls(Struct, frozen=True, kw_only=True):
    """Encryption, with libpq's words; the others are paths of PEM files.

    Of the mysql client's ``ssl-mode``, DISABLED is ``disable``, PREFERRED ``prefer``, REQUIRED
    ``require`` (without roots: they would be checked), VERIFY_CA ``verify-ca`` and
    VERIFY_IDENTITY ``verify-full``.
    """

    mode: TlsMode = "disable"
    root_certificates: str | None = None
    certificate: str | None = None
    key: str | None = None


class Endpoint(Struct, frozen=True, kw_only=True):
    """A server and how to log in to it. ``password`` is never written down.

    ``parameters`` are set at the start of each session: what PostgreSQL's startup message
    takes, or session variables of MySQL.
    """

    protocol: Protocol = "postgresql"
    address: Address
    user: str
    password: str | None = None
    database: str
    parameters: dict[str, str] = {}
    tls: Tls = Tls()
    connect_timeout_ns: int = 10_000_000_000


class Script(Struct, frozen=True, kw_only=True):
    """What one client does in one transaction, in pgbench's language or in Lua."""

    name: str
    weight: int = 1
    text: str


class Think(Struct, frozen=True, kw_only=True):
    """A pause between transactions of one client; mean 0 for none."""

    law: Literal["constant", "exponential"] = "constant"
    mean_ns: int = 0


class ClosedArrivals(Struct, frozen=True, kw_only=True):
    """Each client starts its next transaction when its last is done, after a pause."""

    think: Think = Think()


class OpenArrivals(Struct, frozen=True, kw_only=True):
    """Transactions become due by a schedule; the stages say how many a second."""

    law: Literal["poisson", "constant"] = "poisson"


class Arrivals(Struct, frozen=True, kw_only=True):
    """When transactions become due: exactly one of the two is set."""

    closed: ClosedArrivals | UnsetType = UNSET
    open: OpenArrivals | UnsetType = UNSET


class Stage(Struct, frozen=True, kw_only=True):
    """A part of the run with its own load.

    ``duration_ns`` is None only for the sole stage of a run that counts transactions;
    ``clients`` None means all; ``rate_tps`` is for an open loop.
    """

    duration_ns: int | None
    clients: int | None = None
    rate_tps: float | None = None


class Retry(Struct, frozen=True, kw_only=True):
    """Trying again after serialization failures and deadlocks; ``tries_max`` 0: no limit."""

    tries_max: int = 1
    time_max_ns: int | None = None


class Lua(Struct, frozen=True, kw_only=True):
    """What a sysbench script is run with beside its text.

    ``command`` is ``run``, or one that each client then does once. ``arguments`` are options by
    name, the script's own and sysbench's general ones; ``modules`` what it may require.
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
    variables: dict[str, Scalar] = {}
    seed: int
    clients: int
    threads: int
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
    lua: Lua | None = None


ColumnType: TypeAlias = Literal["int4", "int8", "text", "timestamp"]
Generator: TypeAlias = dict[str, dict[str, int | str]] | Literal["null"]


class LoadColumn(Struct, frozen=True, kw_only=True):
    """One column: its type and where its values come from.

    ``generator`` is ``"null"`` or one of (``row`` counts from 0)
    ``{"sequence": {"start": 1}}`` start + row,
    ``{"block": {"start": 1, "size": 10}}`` start + row // size,
    ``{"random": {"low": 1, "high": 9}}``, ``{"number": {"value": 0}}``,
    ``{"constant": {"text": "x"}}``, ``{"numbered": {"prefix": "digoal", "start": 1}}``,
    ``{"template": {"pattern": "###-@@@"}}``. Type ``timestamp`` takes ``number`` only:
    microseconds since 2000-01-01.
    """

    kind: ColumnType
    generator: Generator


class LoadTable(Struct, frozen=True, kw_only=True):
    """One table's rows; ``copy`` is the statement that receives them.

    On PostgreSQL that is a ``COPY … FROM STDIN (FORMAT binary)``. On MySQL it is a ``LOAD DATA
    LOCAL INFILE 'dbdyno' INTO TABLE … CHARACTER SET utf8mb4``, or where the server forbids that
    (``local_infile``) an ``INSERT INTO … VALUES``, to which rows are appended as literals.
    ``before`` runs first in each transaction that loads a piece (``pieces_max`` 1 where the
    rows must come in one transaction, as ``COPY FREEZE`` after ``TRUNCATE`` wants it).
    """

    name: str
    before: list[str] = []
    copy: str
    rows: int
    pieces_max: int
    columns: list[LoadColumn]


class LoadPlan(Struct, frozen=True, kw_only=True):
    """Tables to fill, by the protocol's bulk way on ``jobs`` connections at once."""

    endpoint: Endpoint
    seed: int
    jobs: int
    tables: list[LoadTable]
