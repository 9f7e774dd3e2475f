"""The tables ``sbtest1``, ``sbtest2`` …, as in sysbench: each tool runs on the other's."""

from collections.abc import Mapping

from dbdyno.databases.schema import Column, Index, Table
from dbdyno.model.generators import Random, Sequence, Template
from dbdyno.model.plan import Scalar
from dbdyno.workloads.base import OtherMaker
from dbdyno.workloads.parameters import Parameter, Values

DATA = "oltp"
GROUP = "#" * 11
C_PATTERN = "-".join([GROUP] * 10)
PAD_PATTERN = "-".join([GROUP] * 5)
ROWS = "rows"
SUM_OF_K = "sum of k"

# IDs are numbered from 1 without gaps, so that the largest is the number of rows.
SYSBENCH = OtherMaker(name="sysbench", scale_query="select coalesce(max(id), 0) from sbtest1")

TABLES = Parameter(
    name="tables", kind="int", default=1, least=1, most=1000, description="number of tables"
)
TABLE_SIZE = Parameter(
    name="table_size",
    kind="int",
    default=10_000,
    least=1,
    most=2**31 - 1,
    description="rows per table",
)
PARAMETERS = (
    TABLES,
    TABLE_SIZE,
    Parameter(
        name="auto_inc",
        kind="bool",
        default=True,
        description="the server generates the ids of loaded rows",
    ),
    Parameter(
        name="create_secondary",
        kind="bool",
        default=True,
        description="create an index on k after loading",
    ),
)


def tables(values: Values) -> tuple[Table, ...]:
    """Return the tables, which are all alike."""
    rows = int(values["table_size"])
    columns = (
        Column("id", "serial" if values["auto_inc"] else "int", Sequence(), not_null=True),
        Column("k", "int", Random(1, rows), not_null=True, default="0"),
        Column("c", "char(120)", Template(C_PATTERN), True, "''"),
        Column("pad", "char(60)", Template(PAD_PATTERN), True, "''"),
    )
    return tuple(
        Table(
            name=f"sbtest{number}",
            columns=columns,
            rows=rows,
            primary_key=("id",),
            indexes=(Index(f"k_{number}", ("k",)),) if values["create_secondary"] else (),
        )
        for number in range(1, int(values["tables"]) + 1)
    )


def measures(values: Values) -> Mapping[str, str]:
    """Return the measures, over all tables together."""
    return {ROWS: _over_all("count(*)", values), SUM_OF_K: _over_all("coalesce(sum(k), 0)", values)}


def _over_all(expression: str, values: Values) -> str:
    parts = (f"(select {expression} from {table.name})" for table in tables(values))
    return f"select {' + '.join(parts)}"


def variables(values: Values, clients: int, _seed: int) -> dict[str, Scalar]:
    """Return the scripts' variables; ``inserted`` is each client's own counter."""
    return {
        "table_size": values["table_size"],
        "clients": clients,
        "inserted": 0,
    }
