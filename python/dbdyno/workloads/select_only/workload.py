"""``select-only``: one account read by its key."""

from pathlib import Path

from dbdyno.workloads import pgbench_data
from dbdyno.workloads.base import Workload, script_file
from dbdyno.workloads.invariants import Unchanged

FOLDER = Path(__file__).parent

WORKLOAD = Workload(
    name="select-only",
    summary="one select by primary key (as pgbench -S)",
    parameters=pgbench_data.PARAMETERS,
    data=pgbench_data.DATA,
    tables=pgbench_data.tables,
    scripts=lambda _values, words: [script_file(FOLDER, "select-only", words)],
    measures=lambda _values: pgbench_data.MEASURES,
    laws=lambda _values: (Unchanged(tuple(pgbench_data.MEASURES)),),
    balances=pgbench_data.BALANCES,
    other_maker=pgbench_data.PGBENCH,
)
