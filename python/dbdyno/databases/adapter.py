"""What every target provides: the structure of ``TARGET``."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Annotated, Protocol, TypeAlias

from msgspec import Meta, Struct
from msgspec.structs import replace

from dbdyno.databases.connection import Connection
from dbdyno.databases.schema import ForeignKey, FoundTable, Index, Table
from dbdyno.databases.telemetry import Telemetry
from dbdyno.model.fitting import fit
from dbdyno.model.recorded_schema import RecordedSchema

# The code and next step of the error if other objects depend on tables that are to be dropped.
TABLE_NEEDED = (
    "table_needed",
    "views or foreign keys of others depend on it: drop those first",
)


Unsigned: TypeAlias = Annotated[int, Meta(ge=0, le=2**63 - 1)]


class ServerSetting(Struct, frozen=True):
    """A setting that differs from the server's built-in default."""

    name: str
    value: str
    unit: str
    source: str


class ServerDescription(Struct, frozen=True, kw_only=True):
    """A server's description, as each run records it.

    ``durability`` contains the settings that decide what survives a crash, default or not. A fact
    that the server does not tell is empty or 0.
    """

    target: str
    """The name of the adapter."""
    database: str = ""
    """The name of its folder in ``databases``."""
    product: str
    """As in ``--server``: ``postgres``, ``mariadb`` or ``mysql``; the driver's word by ODBC."""

    version: str = ""
    version_number: Unsigned = 0
    settings: tuple[ServerSetting, ...] = ()
    durability: dict[str, str] = {}
    encoding: str = ""
    collation: str = ""
    is_in_recovery: bool = False
    database_bytes: Unsigned = 0
    cache_bytes: Unsigned = 0
    build: dict[str, str] = {}
    """What is known of how the program was built: its compiler, its flags, who built it."""
    unreadable: tuple[str, ...] = ()
    """The facts above that the server told in another kind than expected, or not at all when it
    was asked: they lack what could not be read."""


def described(
    target: str, product: str, facts: Mapping[str, object | Callable[[], object]]
) -> ServerDescription:
    """Return the description from plain ``facts``, and functions that ask for some.

    A fact that cannot be read, or is of another kind than :class:`ServerDescription` declares,
    costs only itself: it becomes ``unreadable``.
    """
    plain: dict[str, object] = {"target": target, "product": product}
    unreadable = []
    for name, fact in facts.items():
        try:
            plain[name] = fact() if callable(fact) else fact
        except Exception:  # whatever a driver makes of an answer
            unreadable.append(name)
    fitted = fit(plain, ServerDescription)
    description: ServerDescription = fitted.value
    return replace(description, unreadable=(*unreadable, *fitted.incomplete))


def settings_as_told(rows: Iterable[Sequence[object]]) -> list[dict[str, object]]:
    """Return a server's rows of name, value, unit and source as plain :class:`ServerSetting`."""
    return [dict(zip(ServerSetting.__struct_fields__, row, strict=True)) for row in rows]


class Parameters(Struct, frozen=True):
    """How a server takes the parameters of a statement."""

    refusal: str = ""
    """Why it takes none where the variables are; empty if it does."""
    types: tuple[int, ...] = ()
    """The types that it infers for them (PostgreSQL's OIDs); empty if it does not tell."""


class FreeConnections(Struct, frozen=True):
    """How many more sessions a server admits, what limits it, and how to raise the limit."""

    count: int
    reason: str
    hint: str


class Dialect(Protocol):
    """The statements of one database for tables declared as data."""

    tidying: str
    """What ``tidy`` is called in progress messages."""

    def create(self, table: Table) -> list[str]:
        """Return the statements that create the table, without the keys that are added later."""

    def drop(self, names: Sequence[str]) -> str:
        """Return the statement that drops these tables, but nothing that depends on them."""

    def dependents(self, names: Sequence[str]) -> str:
        """Return the query for what would stop the drop halfway, one sentence per row.

        It is empty for a server that drops all of the tables or none of them.
        """

    def empty(self, table: Table) -> str:
        """Return the statement that empties the table in the transaction that fills it."""

    def before_filling(self) -> list[str]:
        """Return the statements that lift limits on the time that filling may take."""

    def fill(self, table: Table, *, frozen: bool) -> str:
        """Return the statement that receives the rows.

        With ``frozen`` it runs in the transaction that has emptied the table, and freezes them.
        """

    def filled(self, table: Table) -> list[str]:
        """Return the statements that undo what the table had only for being filled."""

    def can_fill_frozen(self, table: Table) -> bool:
        """Whether rows can be frozen as they are loaded."""

    def add_primary_key(self, table: Table) -> list[str]:
        """Return the statements that add the primary key after the data, if there is none yet."""

    def add_index(self, table: Table, index: Index) -> str:
        """Return the statement that adds an index after the data."""

    def add_foreign_key(self, table: Table, key: ForeignKey) -> str:
        """Return the statement that adds a foreign key, once both tables have primary keys."""

    def continue_numbering(self, table: Table) -> list[str]:
        """Return the statements that make identity columns continue after the loaded rows."""

    def tidy(self, tables: Sequence[Table], connection: Connection) -> list[str]:
        """Return the statements that freeze the pages and update the planner's statistics.

        The server behind the connection may be asked for its version.
        """

    def comment(self, table: str, text: str) -> str:
        """Return the statement that sets a comment on a table."""

    def first_row(self, query: str) -> str:
        """Return the query for no more than the first row of another, which has an order."""


class LoadFallback(Struct, frozen=True):
    """Another way to load rows than the usual one, and why a server needs it."""

    dialect: Dialect
    reason: str


def _takes_writes(_connection: Connection) -> str:
    return ""


def _no_schema(_connection: Connection, _texts: Sequence[str]) -> None:
    return None


def _no_load_fallback(_connection: Connection) -> LoadFallback | None:
    return None


def _not_asked(_connection: Connection, _sql: str, _count: int) -> Parameters:
    return Parameters()


@dataclass(frozen=True, kw_only=True)
class Adapter:
    """A database that dbdyno can measure.

    ``storage`` contains the options for how tables are stored that it supports. All reads inside
    the block of ``one_instant`` see the same state. ``understood(doing)`` turns the driver's errors
    inside its block into ours. ``lift_time_limits`` is for sessions that vacuum, build indexes and
    sum up whole tables: limits for the load need not fit that. ``settle`` and ``checkpoint`` return
    what they could not write out, normally nothing. ``load_fallback`` finds out whether rows must
    be loaded in another way than the usual one. ``refuses_writes`` returns why sessions of this
    user can write nothing, normally nothing. ``parameters`` asks the server how it takes this
    number of parameters in a statement. ``recorded_schema`` returns the schema for a run's record,
    what the given texts name first; None if the database cannot tell. Without ``telemetry`` the
    database is measured without telemetry. ``relates_partitions`` tells whether partitioned tables
    can have foreign keys, and be referred to by them. ``disk_full_codes`` are the codes of errors
    that only a full disk of the server causes.
    """

    name: str
    title: str
    dialect: Dialect
    storage: frozenset[str]
    describe: Callable[[Connection], ServerDescription]
    find_tables: Callable[[Connection, Sequence[str]], dict[str, FoundTable]]
    settle: Callable[[Connection, Sequence[str]], str]
    checkpoint: Callable[[Connection], str]
    free_connections: Callable[[Connection], FreeConnections]
    one_instant: Callable[[Connection], AbstractContextManager[None]]
    understood: Callable[[str], AbstractContextManager[None]]
    lift_time_limits: Callable[[Connection], None]
    telemetry: Telemetry | None
    relates_partitions: bool = True
    disk_full_codes: frozenset[str] = frozenset()
    load_fallback: Callable[[Connection], LoadFallback | None] = _no_load_fallback
    refuses_writes: Callable[[Connection], str] = _takes_writes
    recorded_schema: Callable[[Connection, Sequence[str]], RecordedSchema | None] = _no_schema
    parameters: Callable[[Connection, str, int], Parameters] = _not_asked

    @property
    def sql_dialect(self) -> str:
        """The database whose dialect it uses, whatever driver connects to it."""
        return self.name.removeprefix("odbc_")
