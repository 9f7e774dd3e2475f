"""``bulk_insert``: many rows with one insert, into a table that a few clients share.

sysbench gives each thread a table of its own; here ``tables`` is their number. The server numbers
the rows, so that a run continues where the last one ended.
"""

from collections.abc import Callable

from dbdyno.databases.schema import Column, Table
from dbdyno.model.generators import Sequence
from dbdyno.model.plan import Script
from dbdyno.workloads.base import Workload
from dbdyno.workloads.invariants import OnePerTransaction
from dbdyno.workloads.oltp.data import TABLES
from dbdyno.workloads.oltp.scripts import Group, text_on
from dbdyno.workloads.parameters import Parameter, Values

NAME = "bulk_insert"
ROWS = "rows"

ROWS_PER_INSERT = Parameter(
    name="rows_per_insert",
    kind="int",
    default=100,
    least=1,
    most=10_000,
    description="rows per insert",
)


def _tables(values: Values) -> tuple[Table, ...]:
    columns = (
        Column("id", "serial", Sequence(), not_null=True),
        Column("k", "int", not_null=True, default="0"),
    )
    names = [f"sbtest{number}" for number in range(1, int(values["tables"]) + 1)]
    return tuple(Table(name=name, columns=columns, rows=0, primary_key=("id",)) for name in names)


def _scripts(values: Values, _sql_dialect: str) -> list[Script]:
    rows = ", ".join(["(:k)"] * int(values["rows_per_insert"]))
    draws = ["\\set k :k + 1", "\\set table 1 + mod(:client_id, :tables)"]
    group = Group(draws, [f"INSERT INTO {{table}} (k) VALUES {rows};"])
    return [Script(name=NAME, text=text_on(":table", group, int(values["tables"])))]


def _rows(counted: str) -> Callable[[Values], dict[str, str]]:
    """Return the measure of the rows of all tables, counted by this expression."""

    def measures(values: Values) -> dict[str, str]:
        parts = (f"(select {counted} from {table.name})" for table in _tables(values))
        return {ROWS: f"select {' + '.join(parts)}"}

    return measures


WORKLOAD = Workload(
    name=NAME,
    summary="inserts a hundred rows with one statement",
    question="How many look-ups, updates and inserts a second, one statement each?",
    parameters=(TABLES, ROWS_PER_INSERT),
    data=NAME,
    tables=_tables,
    scripts=_scripts,
    measures=_rows("count(*)"),
    grown=_rows("coalesce(max(id), 0)"),  # which reads no row
    laws=lambda values: (OnePerTransaction(ROWS, NAME, int(values["rows_per_insert"])),),
    balances=(),
    variables=lambda values, _clients, _seed: {"tables": values["tables"], "k": 0},
)
