"""What must hold for pgbench's tables, and which numbers a run reads before and after for it.

Accounts are most of the data: if there are many, a run reads stretches of them, and compares them
with the history of the same accounts. The other tables are read completely; ``check`` reads
everything.
"""

from msgspec import Struct

from dbdyno.workloads import rows_read
from dbdyno.workloads.invariants import Law, SameChange, Unchanged
from dbdyno.workloads.parameters import Values
from dbdyno.workloads.pgbench.data import ACCOUNTS_PER_BRANCH

_WHOLE = {
    "sum of abalance": "select coalesce(sum(abalance), 0) from pgbench_accounts",
    "sum of tbalance": "select coalesce(sum(tbalance), 0) from pgbench_tellers",
    "sum of bbalance": "select coalesce(sum(bbalance), 0) from pgbench_branches",
    "sum of delta": "select coalesce(sum(delta), 0) from pgbench_history",
    "rows of pgbench_accounts": "select count(*) from pgbench_accounts",
    "rows of pgbench_tellers": "select count(*) from pgbench_tellers",
    "rows of pgbench_branches": "select count(*) from pgbench_branches",
    "rows of pgbench_history": "select count(*) from pgbench_history",
}

# simple-update changes only accounts and history, so only these pairs always remain equal.
BALANCES: tuple[Law, ...] = (
    SameChange(("sum of abalance", "sum of delta")),
    SameChange(("sum of tbalance", "sum of bbalance")),
    Unchanged(("rows of pgbench_accounts", "rows of pgbench_tellers", "rows of pgbench_branches")),
)


class Accounts(Struct, frozen=True):
    """The measures of the accounts that a run reads; ``delta`` is their history's."""

    abalance: str
    delta: str
    rows: str


_ALL = Accounts("sum of abalance", "sum of delta", "rows of pgbench_accounts")


def accounts_seen(values: Values) -> Accounts:
    """Return the measures of all accounts, or of the stretches."""
    if rows_read.are_all_read(_count(values)):
        return _ALL
    some = f"{rows_read.rows_of_stretches()} accounts"
    return Accounts(f"sum of abalance of {some}", f"sum of delta of {some}", f"rows of {some}")


def measures(values: Values) -> dict[str, str]:
    """Return the measures of whole tables and, if there are many accounts, of the stretches."""
    seen = accounts_seen(values)
    if seen == _ALL:
        return _WHOLE
    stretches = " or ".join(rows_read.stretches("aid", _count(values)))
    return _WHOLE | {
        seen.abalance: f"{_WHOLE[_ALL.abalance]} where {stretches}",
        seen.delta: f"{_WHOLE[_ALL.delta]} where {stretches}",
        seen.rows: f"{_WHOLE[_ALL.rows]} where {stretches}",
    }


def fixed_rows(values: Values) -> Unchanged:
    """Return the law that no workload adds or removes rows, except in the history."""
    accounts = accounts_seen(values).rows
    return Unchanged((accounts, "rows of pgbench_tellers", "rows of pgbench_branches"))


def history_matches_accounts(values: Values) -> SameChange:
    """Return the law that the accounts' changes are those in the history."""
    seen = accounts_seen(values)
    return SameChange((seen.abalance, seen.delta))


def _count(values: Values) -> int:
    return ACCOUNTS_PER_BRANCH * int(values["scale"])
