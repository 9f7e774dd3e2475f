"""``smallbank``: short transactions of a bank, of which most are those of a few hot customers.

It shows what an isolation level costs, and what it lets through: each transaction decides by what
it has read. Balances change by amounts, never to a value, so that the sum of all money is known
from the clients' counts at every level; what a level lets through are savings below 0.
"""

from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import replace

from dbdyno.databases.schema import Column, ForeignKey, Index, Table
from dbdyno.model.generators import Generator, Numbered, Random, Sequence
from dbdyno.model.plan import Scalar, Script
from dbdyno.workloads.audit import Demand, Ratio, mix
from dbdyno.workloads.base import Workload, script_file
from dbdyno.workloads.conditions import Condition
from dbdyno.workloads.invariants import Amount, Law, SumOfAmounts, Unchanged
from dbdyno.workloads.parameters import FILLFACTOR, FOREIGN_KEYS, UNLOGGED, Parameter, Values
from dbdyno.workloads.rows_read import are_all_read

FOLDER = Path(__file__).parent
CHECKED_CUSTOMERS_MAX = 1_000_000
"""Beyond, looking at each account after a run takes longer than many a run."""

# In cents. Their last two digits differ, so that those of the sum tell if one was lost.
DEPOSITED, SAVED, CHECK, PENALTY, PAID = 1_30, 20_20, 5_07, 1_00, 5_00

CUSTOMERS = Parameter(
    name="customers",
    kind="int",
    default=18_000,
    least=2,
    most=1_000_000_000,
    description="number of customers, each with savings and a checking account",
)
HOT_CUSTOMERS = Parameter(
    name="hot_customers",
    kind="int",
    default=1000,
    least=1,
    most=1_000_000_000,
    description="number of hot customers",
)
HOT_PERCENT = Parameter(
    name="hot_percent",
    kind="int",
    default=90,
    least=0,
    most=100,
    description="share of the accesses that are those of hot customers, in percent",
)
MIX = Parameter(
    name="mix",
    kind="choice",
    default="paper",
    choices=("paper", "payments"),
    description="five transactions, equally likely, or payments between customers, too",
)

WEIGHTS = {
    "paper": {
        **{"balance": 2, "deposit-checking": 2, "savings-deposit": 1, "savings-withdrawal": 1},
        **{"amalgamate": 2, "write-check": 2},
    },
    "payments": {
        **{"balance": 30, "deposit-checking": 30, "savings-deposit": 15, "savings-withdrawal": 15},
        **{"amalgamate": 30, "write-check": 30, "send-payment": 50},
    },
}
SIGNS = {"savings-deposit": 1, "savings-withdrawal": -1}
"""TransactSavings is two scripts: the clients' counts of both say what has come and gone."""


def tables(values: Values) -> tuple[Table, ...]:
    """Return the three tables; each customer begins with up to 50 000 on both accounts."""
    name = Numbered("customer-")
    balance = Random(10_000_00, 50_000_00)
    accounts = _table("accounts", Column("name", "varchar(64)", name, not_null=True), values)
    return (
        replace(accounts, indexes=(Index("accounts_name", ("name",), unique=True),)),
        _of_accounts("savings", balance, values),
        _of_accounts("checking", balance, values),
    )


def _of_accounts(name: str, balance: Generator, values: Values) -> Table:
    table = _table(name, Column("bal", "decimal(12,2)", balance, not_null=True), values)
    key = ForeignKey(("custid",), "accounts", ("custid",))
    return replace(table, foreign_keys=(key,) if values["foreign_keys"] else ())


def _table(name: str, column: Column, values: Values) -> Table:
    return Table(
        name=name,
        columns=(Column("custid", "int", Sequence(), not_null=True), column),
        rows=int(values["customers"]),
        primary_key=("custid",),
        fillfactor=int(values["fillfactor"]),
        unlogged=bool(values["unlogged"]),
    )


def scripts(values: Values, sql_dialect: str) -> list[Script]:
    """Return the scripts of the mix, each after what all of them share."""
    shared = (FOLDER / "bank.lua").read_text(encoding="utf-8")
    return [
        replace(_script(name, sql_dialect, shared), weight=weight)
        for name, weight in WEIGHTS[str(values["mix"])].items()
    ]


def _script(name: str, sql_dialect: str, shared: str) -> Script:
    if name in SIGNS:
        shared += f"local sign = {SIGNS[name]}\n"
    script = script_file(FOLDER, "transact-savings" if name in SIGNS else name, sql_dialect)
    return replace(script, name=name, text=shared + script.text)


def variables(values: Values, _clients: int, _seed: int) -> dict[str, Scalar]:
    """Return how many customers there are, how many are hot, and the amounts."""
    customers, hot = int(values["customers"]), int(values["hot_customers"])
    return {
        "customers": customers,
        "hot_customers": min(hot, customers),
        "hot_percent": int(values["hot_percent"]) if hot < customers else 100,
        **{"deposited": DEPOSITED / 100, "saved": SAVED / 100, "check": CHECK / 100},
        **{"penalty": PENALTY / 100, "paid": PAID / 100},
    }


MONEY = "sum of all money in cents"
ROWS = ("rows of accounts", "rows of savings", "rows of checking")
FIXED_ROWS = Unchanged(ROWS)
_BOTH = "select custid, bal from savings union all select custid, bal from checking"


def measures(_values: Values) -> Mapping[str, str]:
    """Return the queries of the numbers that the laws compare."""
    return {
        **{name: f"select count(*) from {name.removeprefix('rows of ')}" for name in ROWS},
        MONEY: f"select sum(bal) * 100 from ({_BOTH}) b",
    }


def laws(values: Values) -> tuple[Law, ...]:
    """Return the laws: what is moved between accounts changes nothing."""
    if not are_all_read(int(values["customers"])):
        return ()
    amounts = (
        Amount("deposit-checking", DEPOSITED, DEPOSITED),
        Amount("savings-deposit", SAVED, SAVED),
        Amount("savings-withdrawal", -SAVED, -SAVED),
        Amount("write-check", -CHECK - PENALTY, -CHECK),
    )
    return (SumOfAmounts(MONEY, amounts, step=PENALTY), FIXED_ROWS)


def demands(values: Values) -> tuple[Demand, ...]:
    """Return the mix, and the accesses of hot customers within one in a hundred."""
    weights, hot_percent = WEIGHTS[str(values["mix"])], int(values["hot_percent"])
    if int(values["hot_customers"]) >= int(values["customers"]):
        return mix(weights)
    hot = "accesses of hot customers"
    low, high = max(hot_percent - 1, 0) / 100, min(hot_percent + 1, 100) / 100
    return (*mix(weights), Ratio(name=hot, of=hot, among="accesses", low=low, high=high))


CONDITIONS = (
    Condition(
        id="1",
        claim="no savings are below 0",
        columns=("custid", "bal"),
        broken="select custid, bal from savings where bal < 0",
        isolation_decides=True,
    ),
    Condition(
        id="2",
        claim="each customer has savings and a checking account",
        columns=("custid", "customers", "savings", "checkings"),
        broken="""
        select custid, sum(customers) as customers, sum(savings) as savings,
            sum(checkings) as checkings
        from (
            select custid, 1 as customers, 0 as savings, 0 as checkings from accounts
            union all select custid, 0, 1, 0 from savings
            union all select custid, 0, 0, 1 from checking
        ) s
        group by custid
        having sum(customers) <> 1 or sum(savings) <> 1 or sum(checkings) <> 1""",
    ),
)

WORKLOAD = Workload(
    name="smallbank",
    summary="short transactions of a bank's few hot customers: what isolation levels cost",
    question="What does an isolation level cost, and what does a lower one let through?",
    parameters=(CUSTOMERS, HOT_CUSTOMERS, HOT_PERCENT, MIX, FILLFACTOR, UNLOGGED, FOREIGN_KEYS),
    data="smallbank",
    tables=tables,
    scripts=scripts,
    measures=measures,
    laws=laws,
    balances=(FIXED_ROWS,),
    conditions=CONDITIONS,
    reads_all_conditions=lambda values: int(values["customers"]) <= CHECKED_CUSTOMERS_MAX,
    demands=demands,
    variables=variables,
    scale_name="customers",
)
