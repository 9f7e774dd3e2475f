"""``pk``: one row by its primary key, one statement a transaction: select, update or insert.

Its table's name is a common one, so a table without our mark is never used, nor replaced unless
requested.
"""

from pathlib import Path

from dbdyno.workloads import rows_read
from dbdyno.workloads.base import Workload, script_file
from dbdyno.workloads.invariants import NotFewer, OnePerTransaction, Unchanged
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


def _rows_seen(values: Values) -> str:
    """Return the measure of all rows, or of the stretches that a run reads of many."""
    if rows_read.are_all_read(_rows(values)):
        return ROWS
    return f"{ROWS} of {rows_read.rows_of_stretches()} ids"


def _measures(values: Values) -> dict[str, str]:
    whole = "select count(*) from tbl"
    if (seen := _rows_seen(values)) == ROWS:
        return {ROWS: whole}
    some = " or ".join(rows_read.stretches("id", _rows(values)))
    return {ROWS: whole, seen: f"{whole} where {some}"}


def _rows(values: Values) -> int:
    return ROWS_PER_SCALE * int(values["scale"])


WORKLOAD = Workload(
    name="pk",
    summary="one select, update or insert by primary key",
    question="How many look-ups, updates and inserts a second, one statement each?",
    parameters=(SCALE, FILLFACTOR, UNLOGGED, OPERATION),
    data="pk",
    tables=lambda values: (keyed_table("tbl", "serial", _rows(values), values),),
    scripts=lambda values, sql_dialect: [
        script_file(FOLDER, str(values["operation"]), sql_dialect)
    ],
    measures=_measures,
    grown=lambda _values: {ROWS: "select coalesce(max(id), 0) from tbl"},
    laws=lambda values: (
        OnePerTransaction(ROWS, "insert")
        if values["operation"] == "insert"
        else Unchanged((_rows_seen(values),)),
    ),
    balances=(NotFewer(ROWS),),
    only_reads=lambda values: values["operation"] == "select",
)
