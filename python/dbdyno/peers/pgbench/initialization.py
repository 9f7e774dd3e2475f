"""``-i``: pgbench's tables, step by step, with its messages.

The tables are those of dbdyno's workloads without dbdyno's marks: as if pgbench had made them. Rows
are loaded by the engine.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from itertools import chain

from msgspec.structs import replace

from dbdyno.databases.schema import Table
from dbdyno.errors import DbdynoError
from dbdyno.model.frame import Loaded, Progress
from dbdyno.model.generators import NULL
from dbdyno.model.plan import LoadColumn, LoadPlan, LoadTable
from dbdyno.peers.command_line import RefusalError
from dbdyno.peers.pgbench.command import STEPS_DEFAULT, Command
from dbdyno.peers.pgbench.database import connected_to, server_says
from dbdyno.peers.streams import Streams
from dbdyno.run.connected_server import ConnectedServer
from dbdyno.run.tools import engine_tools
from dbdyno.workloads.parameters import Values
from dbdyno.workloads.pgbench.data import tables

ROWS_PER_LINE = 100_000
QUIET_S = 5.0
SEED = 0
"""The rows have nothing random."""
_NAMES = "pgbench_accounts, pgbench_branches, pgbench_history, pgbench_tellers"
_SERVER_SIDE = (
    "insert into pgbench_branches (bid, bbalance) select bid, 0 "
    "from generate_series(1, {branches}) as bid",
    "insert into pgbench_tellers (tid, bid, tbalance) select tid, (tid - 1) / 10 + 1, 0 "
    "from generate_series(1, {tellers}) as tid",
    "insert into pgbench_accounts (aid, bid, abalance, filler) "
    "select aid, (aid - 1) / 100000 + 1, 0, '' from generate_series(1, {accounts}) as aid",
)


def initialize(command: Command, streams: Streams) -> None:
    """Do the steps that the command asks for."""
    with connected_to(command) as connected:
        connected.control.add_notice_handler(
            lambda notice: streams.aside(f"{notice.severity}:  {notice.message_primary}\n")
        )
        began = time.monotonic()
        took = []
        steps = _Steps(command, streams, connected)
        for letter in _letters(command):
            title, do = steps.by_letter[letter]
            since = time.monotonic()
            try:
                do()
            except RefusalError:
                raise
            except DbdynoError as problem:
                raise RefusalError(f"error: {problem.message}") from None
            except Exception as problem:  # whatever the driver raises
                raise RefusalError(f"error: query failed: {server_says(problem)}") from None
            took.append(f"{title} {time.monotonic() - since:.2f} s")
        streams.aside(f"done in {time.monotonic() - began:.2f} s ({', '.join(took)}).\n")


def _letters(command: Command) -> Iterator[str]:
    steps = command.steps or STEPS_DEFAULT
    if command.foreign_keys and "f" not in steps:
        steps += "f"
    skipped = " v" if command.no_vacuum else " "
    yield from (step for step in steps if step not in skipped)


class _Steps:
    """The steps on one session."""

    def __init__(self, command: Command, streams: Streams, connected: ConnectedServer) -> None:
        self.command = command
        self.streams = streams
        self.connected = connected
        self.dialect = connected.target.dialect
        self.scale = command.scale or 1
        values: Values = {
            "scale": self.scale,
            "fillfactor": command.fillfactor,
            "unlogged": command.unlogged,
            "partitions": command.partitions,
            "partition_method": command.partition_method or "range",
            "foreign_keys": True,  # the step adds them
        }
        self.tables = tables(values)
        self.by_letter: dict[str, tuple[str, Callable[[], None]]] = {
            "d": ("drop tables", self.drop),
            "t": ("create tables", self.create),
            "g": ("client-side generate", self.generate),
            "G": ("server-side generate", self.generate_in_server),
            "v": ("vacuum", self.vacuum),
            "p": ("primary keys", self.add_primary_keys),
            "f": ("foreign keys", self.add_foreign_keys),
        }

    def drop(self) -> None:
        """Drop what is there."""
        self.streams.aside("dropping old tables...\n")
        self._execute([f"drop table if exists {_NAMES}"])

    def create(self) -> None:
        """Create the tables, and the partitions."""
        self.streams.aside("creating tables...\n")
        if self.command.partitions:
            self.streams.aside(f"creating {self.command.partitions} partitions...\n")
        space = _in_tablespace(self.command.tablespace)
        for table in self.tables:
            # Values that all rows share are sent, and are no defaults of their columns.
            columns = (
                column if column.fixed_value is None else replace(column, generator=NULL)
                for column in table.columns
            )
            bare = replace(table, columns=tuple(columns))
            first, *partitions = self.dialect.create(bare)
            self._execute([f"{first}{space}", *partitions])

    def generate(self) -> None:
        """Load the rows, with lines about the progress."""
        self.streams.aside("generating data (client-side)...\n")
        self._execute([f"truncate table {_NAMES}"])
        names = [table.name for table in self.tables]
        found = self.connected.target.find_tables(self.connected.control, names)
        are_related = any(table.foreign_keys for table in found.values())
        plan = LoadPlan(
            endpoint=self.connected.server.endpoint(),
            seed=SEED,
            jobs=1,
            tables=[self._bulk(table, are_related) for table in self.tables if table.rows],
        )
        self._follow(engine_tools().load(plan))

    def _bulk(self, table: Table, are_related: bool) -> LoadTable:
        """The table's rows; of a table that is referred to, the emptying must be that of all."""
        is_frozen = self.dialect.can_fill_frozen(table) and not are_related
        columns = [column for column in table.columns if column.generator != NULL]
        names = ", ".join(column.name for column in columns)
        options = "format binary, freeze true" if is_frozen else "format binary"
        empty = [self.dialect.empty(table)] if is_frozen else []
        return LoadTable(
            name=table.name,
            before=[*self.dialect.before_filling(), *empty],
            copy=f"copy {table.name} ({names}) from stdin ({options})",
            rows=table.rows,
            rows_total=table.rows,
            pieces_max=1,
            columns=[
                LoadColumn(kind=column.load_kind, generator=column.generator) for column in columns
            ],
        )

    def _follow(self, frames: Iterable[Progress | Loaded]) -> None:
        began = time.monotonic()
        said, lines, total = 0.0, 0, 0
        for frame in frames:
            if isinstance(frame, Loaded) or frame.table != "pgbench_accounts":
                continue
            elapsed_s, total = time.monotonic() - began, frame.rows_total
            is_due = (
                elapsed_s - said >= QUIET_S or frame.rows == total
                if self.command.quiet
                else frame.rows // ROWS_PER_LINE > lines
            )
            if is_due and frame.rows:
                left_s = elapsed_s * (total - frame.rows) / frame.rows
                said, lines = elapsed_s, frame.rows // ROWS_PER_LINE
                end = "\r" if self.streams.is_in_terminal and frame.rows < total else "\n"
                self.streams.aside(
                    f"{frame.rows} of {total} tuples ({100 * frame.rows // total}%) of "
                    f"pgbench_accounts done (elapsed {elapsed_s:.2f} s, remaining {left_s:.2f} s)"
                    f"{end}"
                )

    def generate_in_server(self) -> None:
        """Let the server make the rows, in one transaction."""
        self.streams.aside("generating data (server-side)...\n")
        rows = {table.name.removeprefix("pgbench_"): table.rows for table in self.tables}
        filling = (statement.format(**rows) for statement in _SERVER_SIDE)
        self._execute(["begin", f"truncate table {_NAMES}", *filling, "commit"])

    def vacuum(self) -> None:
        """Vacuum and analyze the tables."""
        self.streams.aside("vacuuming...\n")
        self._execute(f"vacuum analyze {table.name}" for table in self.tables)

    def add_primary_keys(self) -> None:
        """Add the primary keys."""
        self.streams.aside("creating primary keys...\n")
        space = self.command.index_tablespace
        using = f" using index{_in_tablespace(space)}" if space else ""
        statements = chain.from_iterable(map(self.dialect.add_primary_key, self.tables))
        self._execute(f"{statement}{using}" for statement in statements)

    def add_foreign_keys(self) -> None:
        """Add the foreign keys."""
        self.streams.aside("creating foreign keys...\n")
        self._execute(
            self.dialect.add_foreign_key(table, key)
            for table in self.tables
            for key in table.foreign_keys
        )

    def _execute(self, statements: Iterable[str]) -> None:
        for statement in statements:
            self.connected.control.execute(statement)


def _in_tablespace(name: str) -> str:
    quoted = name.replace('"', '""')
    return f' tablespace "{quoted}"' if name else ""
