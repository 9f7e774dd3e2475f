"""``tpcb``: pgbench's own workload. Few branches, so its clients meet on the same rows."""

from pathlib import Path

from dbdyno.workloads import pgbench_data
from dbdyno.workloads.base import Workload, script_file
from dbdyno.workloads.invariants import Law, OnePerTransaction, SameChange
from dbdyno.workloads.parameters import Values

FOLDER = Path(__file__).parent


def _laws(_values: Values) -> tuple[Law, ...]:
    sums = ("sum of abalance", "sum of tbalance", "sum of bbalance", "sum of delta")
    return (
        SameChange(sums),
        OnePerTransaction("rows of pgbench_history", "tpcb"),
        pgbench_data.FIXED_ROWS,
    )


WORKLOAD = Workload(
    name="tpcb",
    summary="five statements in a transaction: three updates, a select, an insert (as pgbench)",
    parameters=pgbench_data.PARAMETERS,
    data=pgbench_data.DATA,
    tables=pgbench_data.tables,
    scripts=lambda _values, words: [script_file(FOLDER, "tpcb", words)],
    measures=lambda _values: pgbench_data.MEASURES,
    laws=_laws,
    balances=pgbench_data.BALANCES,
    other_maker=pgbench_data.PGBENCH,
)
