"""``select-only``: one account read by its key."""

from pathlib import Path

from dbdyno.workloads import pgbench_data, pgbench_laws
from dbdyno.workloads.base import Workload, script_file
from dbdyno.workloads.invariants import Law, Unchanged
from dbdyno.workloads.parameters import Values

FOLDER = Path(__file__).parent


def _laws(values: Values) -> tuple[Law, ...]:
    seen = pgbench_laws.accounts_seen(values)
    sums = (seen.abalance, "sum of tbalance", "sum of bbalance", "sum of delta")
    return (Unchanged((*sums, "rows of pgbench_history")), pgbench_laws.fixed_rows(values))


WORKLOAD = Workload(
    name="select-only",
    summary="one select by primary key (as pgbench -S)",
    parameters=pgbench_data.PARAMETERS,
    data=pgbench_data.DATA,
    tables=pgbench_data.tables,
    scripts=lambda _values, sql_dialect: [script_file(FOLDER, "select-only", sql_dialect)],
    measures=pgbench_laws.measures,
    laws=_laws,
    balances=pgbench_laws.BALANCES,
    other_maker=pgbench_data.PGBENCH,
)
