"""``pk``: one row by its primary key, one statement a transaction: select, update or insert.

Its table's name is a common one, so a table without our mark is never used, nor replaced unless
requested.
"""

from pathlib import Path

from dbdyno.databases.schema import Table
from dbdyno.model.plan import Script
from dbdyno.workloads.base import Workload, script_file
from dbdyno.workloads.invariants import Law, NotFewer, OnePerTransaction, Unchanged
from dbdyno.workloads.keyed_table import keyed_table
from dbdyno.workloads.parameters import FILLFACTOR, SCALE, UNLOGGED, Parameter, Values

FOLDER = Path(__file__).parent

ROWS_PER_SCALE = 100_000
ROWS = "rows of tbl"

OPERATION = Parameter(
    name="operation",
    kind="choice",
    default="update",
    choices=("select", "update", "insert"),
    description="what each transaction does",
)


def _tables(values: Values) -> tuple[Table, ...]:
    return (keyed_table("tbl", "serial", ROWS_PER_SCALE * int(values["scale"]), values),)


def _scripts(values: Values, sql_dialect: str) -> list[Script]:
    return [script_file(FOLDER, str(values["operation"]), sql_dialect)]


def _laws(values: Values) -> tuple[Law, ...]:
    if values["operation"] == "insert":
        return (OnePerTransaction(ROWS, "insert"),)
    return (Unchanged((ROWS,)),)


WORKLOAD = Workload(
    name="pk",
    summary="one select, update or insert by primary key",
    parameters=(SCALE, FILLFACTOR, UNLOGGED, OPERATION),
    data="pk",
    tables=_tables,
    scripts=_scripts,
    measures=lambda _values: {ROWS: "select count(*) from tbl"},
    laws=_laws,
    balances=(NotFewer(ROWS),),
)
