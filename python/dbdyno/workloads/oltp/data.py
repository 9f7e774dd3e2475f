"""The tables ``sbtest1``, ``sbtest2`` …, as in sysbench: each tool runs on the other's."""

from collections.abc import Iterable, Mapping

from dbdyno.databases.schema import Column, Index, Table
from dbdyno.model.generators import Random, Sequence, Template
from dbdyno.model.plan import Scalar
from dbdyno.workloads import rows_read
from dbdyno.workloads.base import OtherMaker
from dbdyno.workloads.parameters import Parameter, Values

DATA = "oltp"
GROUP = "#" * 11
C_PATTERN = "-".join([GROUP] * 10)
PAD_PATTERN = "-".join([GROUP] * 5)
ROWS = "rows"
"""The measure of all rows; that of those that a run reads is :func:`rows_seen`."""

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


def are_all_read(values: Values) -> bool:
    """Whether a run reads the rows of all tables, and not only stretches of them."""
    return rows_read.are_all_read(int(values["tables"]) * int(values["table_size"]))


def rows_seen(values: Values) -> str:
    """Return the measure of the number of the rows that a run reads."""
    return f"{ROWS}{_some(values)}"


def sum_of_k_seen(values: Values) -> str:
    """Return the measure of the sum of ``k`` of the rows that a run reads."""
    return f"sum of k{_some(values)}"


def _some(values: Values) -> str:
    return "" if are_all_read(values) else f" of {rows_read.rows_of_stretches()} ids"


def measures(values: Values) -> Mapping[str, str]:
    """Return the measures, over all tables together: of all rows, or of those that are read."""
    whole = tuple(table.name for table in tables(values))
    seen = whole if are_all_read(values) else _stretches(values)
    return {
        ROWS: _over_all("count(*)", whole),
        rows_seen(values): _over_all("count(*)", seen),
        sum_of_k_seen(values): _over_all("coalesce(sum(k), 0)", seen),
    }


def grown(values: Values) -> Mapping[str, str]:
    """Return the query for how many rows there are by now, up to one more than a run reads."""
    if not are_all_read(values):
        return {}  # it reads stretches
    names = [table.name for table in tables(values)]
    enough = rows_read.ROWS_READ_MAX // len(names) + 1  # rows are added to all tables alike
    counted = _over_all(
        "count(*)", (f"(select 1 from {name} limit {enough}) rows_" for name in names)
    )
    return dict.fromkeys((ROWS, rows_seen(values), sum_of_k_seen(values)), counted)


def _stretches(values: Values) -> tuple[str, ...]:
    """Return stretches from the beginning of the first table to the end of the last."""
    tables = int(values["tables"])
    conditions = rows_read.stretches("id", int(values["table_size"]))
    return tuple(
        f"sbtest{1 + number * tables // len(conditions)} where {condition}"
        for number, condition in enumerate(conditions)
    )


def _over_all(expression: str, places: Iterable[str]) -> str:
    parts = (f"(select {expression} from {place})" for place in places)
    return f"select {' + '.join(parts)}"


def variables(values: Values, clients: int, _seed: int) -> dict[str, Scalar]:
    """Return the scripts' variables; ``inserted`` is each client's own counter."""
    return {
        "table_size": values["table_size"],
        "clients": clients,
        "inserted": 0,
    }
