"""``pk``: one row by its primary key, one statement a transaction: select, update or insert.

Its table's name is a common one, so a table without our mark is never used, nor replaced unless
requested.
"""

from pathlib import Path

from dbdyno.workloads.base import Workload, script_file
from dbdyno.workloads.invariants import NotFewer, OnePerTransaction, Unchanged
from dbdyno.workloads.keyed_table import keyed_table
from dbdyno.workloads.parameters import FILLFACTOR, SCALE, UNLOGGED, Parameter

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


WORKLOAD = Workload(
    name="pk",
    summary="one select, update or insert by primary key",
    question="How many look-ups, updates and inserts a second, one statement each?",
    parameters=(SCALE, FILLFACTOR, UNLOGGED, OPERATION),
    data="pk",
    tables=lambda values: (
        keyed_table("tbl", "serial", ROWS_PER_SCALE * int(values["scale"]), values),
    ),
    scripts=lambda values, sql_dialect: [
        script_file(FOLDER, str(values["operation"]), sql_dialect)
    ],
    measures=lambda _values: {ROWS: "select count(*) from tbl"},
    laws=lambda values: (
        OnePerTransaction(ROWS, "insert")
        if values["operation"] == "insert"
        else Unchanged((ROWS,)),
    ),
    balances=(NotFewer(ROWS),),
    only_reads=lambda values: values["operation"] == "select",
)
