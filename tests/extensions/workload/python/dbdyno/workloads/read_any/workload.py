"""``read-any``: any row of a table by its key."""

from pathlib import Path

from dbdyno.databases.schema import Column, Table
from dbdyno.model.generators import Sequence
from dbdyno.workloads.base import Workload, script_file
from dbdyno.workloads.invariants import Unchanged
from dbdyno.workloads.parameters import SCALE, Values

FOLDER = Path(__file__).parent
ROWS = 1_000


def _tables(values: Values) -> tuple[Table, ...]:
    return (
        Table(
            name="anything",
            columns=(Column("id", "int", Sequence(), not_null=True),),
            rows=ROWS * int(values["scale"]),
            primary_key=("id",),
        ),
    )


WORKLOAD = Workload(
    name="read-any",
    summary="any row of a table by its key",
    parameters=(SCALE,),
    data="read-any",
    tables=_tables,
    scripts=lambda _values, sql_dialect: [script_file(FOLDER, "read", sql_dialect)],
    measures=lambda _values: {"rows of anything": "select count(*) from anything"},
    laws=lambda _values: (Unchanged(("rows of anything",)),),
    balances=(Unchanged(("rows of anything",)),),
)
