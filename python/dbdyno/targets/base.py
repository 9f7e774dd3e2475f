"""What every target offers to the rest of dbdyno: the shape of ``TARGET``."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from msgspec import Struct

from dbdyno.targets.connection import Connection
from dbdyno.targets.schema import ForeignKey, FoundTable, Index, Table
from dbdyno.targets.telemetry import Telemetry


class ServerSetting(Struct, frozen=True):
    """A setting that differs from the server's built-in default."""

    name: str
    value: str
    unit: str
    source: str


class ServerDescription(Struct, frozen=True, kw_only=True):
    """What a server is, as each run records it.

    ``durability`` are the settings that decide what survives a crash, default or not.
    """

    target: str
    product: str
    """As ``--server`` has it: ``postgres``, ``mariadb`` or ``mysql``."""

    version: str
    version_number: int
    settings: tuple[ServerSetting, ...]
    durability: dict[str, str]
    encoding: str
    collation: str
    is_in_recovery: bool
    database_bytes: int
    cache_bytes: int
    capabilities: frozenset[str]


class FreeConnections(Struct, frozen=True):
    """How many more sessions a server admits; why not more, and what to do, in its words."""

    count: int
    reason: str
    hint: str


class Dialect(Protocol):
    """Statements of one database for tables declared as data."""

    tidying: str
    """What people who wait for it call ``tidy``."""

    def create(self, table: Table) -> list[str]:
        """What makes the table, without its keys."""

    def drop(self, names: Sequence[str]) -> str:
        """What drops these tables, and nothing that depends on them."""

    def empty(self, table: Table) -> str:
        """What empties the table in the transaction that fills it."""

    def fill(self, table: Table, *, frozen: bool) -> str:
        """What receives the rows; ``frozen`` in the transaction that has emptied the table."""

    def filled(self, table: Table) -> list[str]:
        """Takes back what the table had for being filled only."""

    def can_fill_frozen(self, table: Table) -> bool:
        """Whether rows can come in frozen."""

    def add_primary_key(self, table: Table) -> list[str]:
        """What adds the primary key after the data, where it is not there before."""

    def add_index(self, table: Table, index: Index) -> str:
        """What adds an index after the data."""

    def add_foreign_key(self, table: Table, key: ForeignKey) -> str:
        """What adds a foreign key, once both tables have theirs."""

    def continue_numbering(self, table: Table) -> list[str]:
        """What makes self-numbering columns go on after the loaded rows."""

    def tidy(self, tables: Sequence[Table]) -> list[str]:
        """What freezes the pages and gathers the planner's statistics."""

    def comment(self, table: str, text: str) -> str:
        """What leaves a comment on a table."""


class LoadFallback(Struct, frozen=True):
    """How rows are loaded where the usual way is not allowed, and why."""

    dialect: Dialect
    reason: str


def _no_load_fallback(_connection: Connection) -> LoadFallback | None:
    return None


@dataclass(frozen=True, kw_only=True)
class Target:
    """A database that dbdyno can measure.

    ``storage`` are the words for how tables are stored that it knows. All that is read inside
    the block of ``one_instant`` is of one instant. ``understood(doing)`` turns the driver's
    errors inside its block into ours. ``settle`` and ``checkpoint`` say what they had to leave
    unwritten, which is nothing as a rule. ``load_fallback`` asks a server whether rows must be
    loaded in another way than usual. Without ``telemetry`` it is measured, but not watched.
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
    telemetry: Telemetry | None
    load_fallback: Callable[[Connection], LoadFallback | None] = _no_load_fallback

    @property
    def words(self) -> str:
        """Whose words its statements are in, whichever way leads to it."""
        return self.name.removeprefix("odbc_")
