"""The family ``tpcb``, ``simple-update`` and ``select-only``: pgbench's own scripts, on its tables.

``tpcb`` has hot rows: with few branches, its clients write the same ones. ``simple-update`` leaves
tellers and branches alone, and so has none of their lock waits. ``select-only`` reads one account.
"""

from collections.abc import Callable
from pathlib import Path

from dbdyno.workloads.base import Workload, script_file
from dbdyno.workloads.invariants import Law, OnePerTransaction, SameChange, Unchanged
from dbdyno.workloads.parameters import Values
from dbdyno.workloads.pgbench import data, laws

FOLDER = Path(__file__).parent


def member(name: str, summary: str, own_laws: Callable[[Values], tuple[Law, ...]]) -> Workload:
    """Return a workload of the family; no member adds or removes rows, except in the history."""
    return Workload(
        name=name,
        summary=summary,
        question="How many look-ups, updates and inserts a second, one statement each?"
        if name == "select-only"
        else "How many transactions a second, as benchmarks have them?",
        parameters=data.PARAMETERS,
        data="pgbench",
        tables=data.tables,
        scripts=lambda _values, sql_dialect: [script_file(FOLDER, name, sql_dialect)],
        measures=laws.measures,
        laws=lambda values: (*own_laws(values), laws.fixed_rows(values)),
        balances=laws.BALANCES,
        other_maker=data.PGBENCH,
        only_reads=lambda _values: name == "select-only",
    )


WORKLOADS = (
    member(
        "tpcb",
        "five statements in a transaction: three updates, a select, an insert (as pgbench)",
        lambda values: (
            SameChange(("sum of tbalance", "sum of bbalance", "sum of delta")),
            laws.history_matches_accounts(values),
            OnePerTransaction("rows of pgbench_history", "tpcb"),
        ),
    ),
    member(
        "simple-update",
        "an update, a select and an insert in a transaction (as pgbench -N)",
        lambda values: (
            laws.history_matches_accounts(values),
            Unchanged(("sum of tbalance", "sum of bbalance")),
            OnePerTransaction("rows of pgbench_history", "simple-update"),
        ),
    ),
    member(
        "select-only",
        "one select by primary key (as pgbench -S)",
        lambda values: (
            Unchanged(
                (
                    laws.accounts_seen(values).abalance,
                    *("sum of tbalance", "sum of bbalance", "sum of delta"),
                    "rows of pgbench_history",
                )
            ),
        ),
    ),
)
