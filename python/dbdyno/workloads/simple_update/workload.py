"""``simple-update``: tpcb without tellers and branches, and so without their lock waits."""

from pathlib import Path

from dbdyno.workloads import pgbench_data, pgbench_laws
from dbdyno.workloads.base import Workload, script_file
from dbdyno.workloads.invariants import Law, OnePerTransaction, Unchanged
from dbdyno.workloads.parameters import Values

FOLDER = Path(__file__).parent


def _laws(values: Values) -> tuple[Law, ...]:
    return (
        pgbench_laws.history_matches_accounts(values),
        Unchanged(("sum of tbalance", "sum of bbalance")),
        OnePerTransaction("rows of pgbench_history", "simple-update"),
        pgbench_laws.fixed_rows(values),
    )


WORKLOAD = Workload(
    name="simple-update",
    summary="an update, a select and an insert in a transaction (as pgbench -N)",
    parameters=pgbench_data.PARAMETERS,
    data=pgbench_data.DATA,
    tables=pgbench_data.tables,
    scripts=lambda _values, sql_dialect: [script_file(FOLDER, "simple-update", sql_dialect)],
    measures=pgbench_laws.measures,
    laws=_laws,
    balances=pgbench_laws.BALANCES,
    other_maker=pgbench_data.PGBENCH,
)
