"""``tpcb``: pgbench's own workload. With few branches, its clients access the same rows."""

from pathlib import Path

from dbdyno.workloads import pgbench_data, pgbench_laws
from dbdyno.workloads.base import Workload, script_file
from dbdyno.workloads.invariants import Law, OnePerTransaction, SameChange
from dbdyno.workloads.parameters import Values

FOLDER = Path(__file__).parent


def _laws(values: Values) -> tuple[Law, ...]:
    return (
        SameChange(("sum of tbalance", "sum of bbalance", "sum of delta")),
        pgbench_laws.history_matches_accounts(values),
        OnePerTransaction("rows of pgbench_history", "tpcb"),
        pgbench_laws.fixed_rows(values),
    )


WORKLOAD = Workload(
    name="tpcb",
    summary="five statements in a transaction: three updates, a select, an insert (as pgbench)",
    parameters=pgbench_data.PARAMETERS,
    data=pgbench_data.DATA,
    tables=pgbench_data.tables,
    scripts=lambda _values, sql_dialect: [script_file(FOLDER, "tpcb", sql_dialect)],
    measures=pgbench_laws.measures,
    laws=_laws,
    balances=pgbench_laws.BALANCES,
    other_maker=pgbench_data.PGBENCH,
)
