"""``select-only``: one account read by its key."""

from pathlib import Path

from dbdyno.workloads import pgbench_data
from dbdyno.workloads.base import Workload
from dbdyno.workloads.invariants import Unchanged

WORKLOAD = Workload(
    name="select-only",
    summary="one select by primary key (as pgbench -S)",
    folder=Path(__file__).parent,
    parameters=pgbench_data.PARAMETERS,
    data=pgbench_data.DATA,
    tables=pgbench_data.tables,
    script_names=lambda _values: ("select-only",),
    measures=pgbench_data.MEASURES,
    laws=lambda _values: (Unchanged(tuple(pgbench_data.MEASURES)),),
    balances=pgbench_data.BALANCES,
    other_maker=pgbench_data.PGBENCH,
)
