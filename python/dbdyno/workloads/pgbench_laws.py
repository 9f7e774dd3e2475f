"""What must hold of pgbench's tables, and which numbers a run reads before and after to see it.

Accounts are most of the data: where there are many, a run looks at stretches of neighbours spread
over the table, and holds them against what the history says of the same accounts. To add up a
hundred million takes longer than many a run, and would warm every cache before it. The other
tables are read whole; ``check`` reads all of everything.
"""

from msgspec import Struct

from dbdyno.workloads.invariants import Law, SameChange, Unchanged
from dbdyno.workloads.parameters import Values
from dbdyno.workloads.pgbench_data import ACCOUNTS_PER_BRANCH

ACCOUNTS_ADDED_UP_MAX = 10_000_000
STRETCHES = 10
ACCOUNTS_OF_STRETCH = 10_000

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

# simple-update moves accounts and history alone, so only these pairs always stay level.
BALANCES: tuple[Law, ...] = (
    SameChange(("sum of abalance", "sum of delta")),
    SameChange(("sum of tbalance", "sum of bbalance")),
    Unchanged(("rows of pgbench_accounts", "rows of pgbench_tellers", "rows of pgbench_branches")),
)


class Accounts(Struct, frozen=True):
    """The measures of the accounts that a run looks at; ``delta`` is the history's of the same."""

    abalance: str
    delta: str
    rows: str


_ALL = Accounts("sum of abalance", "sum of delta", "rows of pgbench_accounts")


def accounts_seen(values: Values) -> Accounts:
    """All of them, or those of the stretches."""
    if _count(values) <= ACCOUNTS_ADDED_UP_MAX:
        return _ALL
    some = f"{STRETCHES * ACCOUNTS_OF_STRETCH} accounts"
    return Accounts(f"sum of abalance of {some}", f"sum of delta of {some}", f"rows of {some}")


def measures(values: Values) -> dict[str, str]:
    """Those of whole tables, and where there are many accounts those of the stretches."""
    seen = accounts_seen(values)
    if seen == _ALL:
        return _WHOLE
    stretches = _in_stretches(_count(values))
    return _WHOLE | {
        seen.abalance: f"{_WHOLE[_ALL.abalance]} where {stretches}",
        seen.delta: f"{_WHOLE[_ALL.delta]} where {stretches}",
        seen.rows: f"{_WHOLE[_ALL.rows]} where {stretches}",
    }


def fixed_rows(values: Values) -> Unchanged:
    """No workload adds or removes any but those of the history."""
    accounts = accounts_seen(values).rows
    return Unchanged((accounts, "rows of pgbench_tellers", "rows of pgbench_branches"))


def history_tells_accounts(values: Values) -> SameChange:
    """What an account gains stands in the history."""
    seen = accounts_seen(values)
    return SameChange((seen.abalance, seen.delta))


def _count(values: Values) -> int:
    return ACCOUNTS_PER_BRANCH * int(values["scale"])


def _in_stretches(accounts: int) -> str:
    """The first begins with the table, the last ends with it, or a few rows before."""
    step = (accounts - ACCOUNTS_OF_STRETCH) // (STRETCHES - 1)
    firsts = [1 + number * step for number in range(STRETCHES)]
    return " or ".join(
        f"aid between {first} and {first + ACCOUNTS_OF_STRETCH - 1}" for first in firsts
    )
