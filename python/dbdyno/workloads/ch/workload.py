"""``ch``: order entry as ``tpcc``, with analysts beside it, after CH-benCHmark.

The question is what analysts cost order entry, and how fast they are. Each runs the 22 queries of
the benchmark, in a random order, and again in another one; none of them writes.
"""

import dataclasses
from pathlib import Path

from dbdyno.databases.schema import Table
from dbdyno.model.plan import ClientGroup, Script
from dbdyno.workloads.audit import Metric
from dbdyno.workloads.base import script_file
from dbdyno.workloads.ch import data
from dbdyno.workloads.parameters import Parameter, Values
from dbdyno.workloads.tpcc.workload import WORKLOAD as ORDER_ENTRY

FOLDER = Path(__file__).parent
QUERIES = tuple(f"q{number:02}" for number in range(1, 23))
ANALYSTS = Parameter(
    name="analysts",
    kind="int",
    default=1,
    least=0,
    most=1000,
    description="number of clients that run the 22 queries, beside those of -c",
)


def tables(values: Values) -> tuple[Table, ...]:
    """Return those of order entry, and the three that the queries add."""
    added = (data.region(values), data.nation(values), data.supplier(values))
    return (*ORDER_ENTRY.tables(values), *added)


def scripts(values: Values, sql_dialect: str) -> list[Script]:
    """Return the scripts of the terminals, and those of the analysts if there are any."""
    names = QUERIES if values["analysts"] else ()
    queries = [script_file(FOLDER, name, sql_dialect) for name in names]
    return [*ORDER_ENTRY.scripts(values, sql_dialect), *queries]


def analysts(values: Values) -> ClientGroup | None:
    """Return the clients that run the queries: each deals them as cards."""
    many = int(values["analysts"])
    return ClientGroup(clients=many, scripts=len(QUERIES), choice="deck") if many else None


WORKLOAD = dataclasses.replace(
    ORDER_ENTRY,
    name="ch",
    summary="order entry with analysts beside it, after CH-benCHmark",
    question="What do analysts cost the transactions beside them?",
    parameters=(*ORDER_ENTRY.parameters, ANALYSTS),
    data="ch",
    tables=tables,
    scripts=scripts,
    beside=analysts,
    metrics=(
        *ORDER_ENTRY.metrics,
        Metric(field="queries_per_hour", scripts=QUERIES, seconds=3600.0),
    ),
)
