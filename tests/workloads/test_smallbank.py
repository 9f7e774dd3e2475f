"""SmallBank: its money, its hot customers, and what isolation levels let through."""

import collections
from collections.abc import Iterator
from typing import Any

import pytest

from dbdyno.workloads.invariants import Committed
from dbdyno.workloads.registry import find_workload
from tests.workloads.both_servers import KINDS, Database, command, database_on

SMALLBANK = find_workload("smallbank")
CUSTOMERS = 400
LOAD = ("-c", "6", "--warmup", "0", "--telemetry", "off", "--seed", "3")
FEW = ("-D", "hot_customers=3", "-D", "mix=payments")
MONEY = "sum of all money in cents"


@pytest.fixture(params=KINDS, scope="module")
def bank(request: pytest.FixtureRequest) -> Iterator[Database]:
    with database_on(request.getfixturevalue(request.param), "smallbank") as database:
        database.prepare(SMALLBANK, customers=CUSTOMERS)
        yield database


def run(database: Database, *options: str) -> tuple[int, dict[str, Any]]:
    return command("run", "smallbank", "--target", database.server.url, *LOAD, *options)


def cents(database: Database) -> int:
    both = "select bal from savings union all select bal from checking"
    return int(database.one(f"select sum(bal) * 100 from ({both}) b"))


def test_the_population(bank: Database) -> None:
    for name in ("accounts", "savings", "checking"):
        assert bank.one(f"select count(*) from {name}") == CUSTOMERS
    assert bank.rows("select name from accounts where custid = 7") == [("customer-7",)]


@pytest.mark.parametrize("mix", ["paper", "payments"])
def test_money_is_what_the_clients_have_counted(bank: Database, mix: str) -> None:
    before = cents(bank)
    code, record = run(bank, "-t", "100", "-D", f"mix={mix}", "-D", "hot_customers=20")
    assert (code, record["invalid_reasons"], record["failures"]) == (0, [], [])
    assert MONEY in record["invariants_read"]
    done = {script["name"]: script["ok"] for script in record["scripts"]}
    assert record["transactions"]["ok"] == sum(done.values()) == 600
    assert ("send-payment" in done) == (mix == "payments")
    assert min(done.values()) > 0
    # Those whose money was moved are refused, or pay a penalty.
    least = 130 * done["deposit-checking"] + 2020 * (
        done["savings-deposit"] - done["savings-withdrawal"]
    )
    checks = done["write-check"]
    refused = record["transactions"]["rolled_back"]
    change = cents(bank) - before - least + 507 * checks
    assert -100 * checks <= change <= 2020 * refused


@pytest.mark.parametrize("level", ["read-committed", "repeatable-read", "serializable"])
def test_each_level_keeps_the_money_and_counts_what_it_lets_through(
    bank: Database, level: str
) -> None:
    """Six clients on three customers, most of whose savings are gone: all decide at the edge."""
    bank.connection.execute("update savings set bal = 20000 where bal < 0")
    bank.connection.execute("update savings set bal = 21 where custid <= 3")
    bank.connection.execute("update checking set bal = 3 where custid <= 3")
    bank.connection.execute("update savings set bal = -1 where custid = 9")
    code, record = run(bank, "-t", "60", *FEW, "-D", "hot_percent=100", "--isolation", level)
    assert (code, record["invalid_reasons"], record["failures"]) == (0, [], [])
    assert record["isolation"]["level"] == level
    assert record["transactions"]["ok"] == 360
    assert record["transactions"]["rolled_back"] > 0
    overdrawn = bank.one("select count(*) from savings where bal < 0 and custid <> 9")
    is_snapshot = bank.server.endpoint().protocol == "postgresql"
    if level == "serializable" or (level == "repeatable-read" and is_snapshot):
        assert overdrawn == 0
    savings, accounts = record["checks"]
    assert (savings["rows_before"], savings["rows"], savings["ok"]) == (1, overdrawn + 1, False)
    assert (accounts["ok"], accounts["rows_before"]) == (True, None)
    assert [doubt for doubt in record["doubts"] if "no savings are below 0" in doubt]
    bank.connection.execute("update savings set bal = 20000 where custid <= 3 or custid = 9")


def test_penalties_and_the_hot_customers_are_counted(bank: Database) -> None:
    code, record = run(bank, "-t", "200", "-D", "hot_customers=5", "-D", "hot_percent=60")
    assert (code, record["invalid_reasons"]) == (0, [])
    counted, audit = record["counted"], {one["name"]: one for one in record["audit"]}
    done = {script["name"]: script["ok"] for script in record["scripts"]}
    # Two customers for each transfer, one for all others.
    assert counted["accesses"] == sum(done.values()) + done["amalgamate"]
    hot = audit["accesses of hot customers"]
    assert (hot["count"], hot["value"]) == (counted["accesses"], pytest.approx(0.6, abs=0.08))
    assert (hot["low"], hot["high"]) == (0.59, 0.61)
    assert audit["balance"]["value"] == pytest.approx(0.2, abs=0.05)
    # A customer whom an amalgamation has left nothing has to pay a penalty for each check.
    bank.connection.execute("update savings set bal = 0")
    bank.connection.execute("update checking set bal = 0")
    before = cents(bank)
    code, record = run(bank, "-t", "50", "-D", "hot_percent=0")
    done = {script["name"]: script["ok"] for script in record["scripts"]}
    penalties = record["counted"]["penalties"]
    assert 0 < penalties <= done["write-check"]
    withdrawn = next(one for one in record["scripts"] if one["name"] == "savings-withdrawal")
    deposits = 130 * done["deposit-checking"] + 2020 * done["savings-deposit"]
    taken = 507 * done["write-check"] + 100 * penalties + 2020 * withdrawn["committed"]
    assert cents(bank) - before == deposits - taken
    bank.connection.execute("update savings set bal = 20000")
    bank.connection.execute("update checking set bal = 20000")


def test_a_run_that_ends_with_negative_savings_is_valid_and_says_so(bank: Database) -> None:
    kept = bank.one("select bal from savings where custid = 9")
    bank.connection.execute("update savings set bal = -1.5 where custid = 9")
    code, record = run(bank, "-t", "5", "-D", "hot_customers=3", "-D", "hot_percent=100")
    assert (code, record["invalid_reasons"]) == (0, [])
    assert record["checks"][0]["rows"] >= 1  # two amalgamations of the same money leave more
    assert any("no savings are below 0: broken by" in doubt for doubt in record["doubts"])
    bank.connection.execute(f"update savings set bal = {kept} where custid = 9 or bal < 0")


def test_negative_savings_and_missing_accounts_are_shown(bank: Database) -> None:
    kept = bank.one("select bal from savings where custid = 9")
    bank.connection.execute("update savings set bal = -1.5 where custid = 9")
    code, answer = command("check", "smallbank", "--target", bank.server.url)
    assert (code, answer["checks"][0]["rows"]) == (4, 1)
    assert answer["checks"][0]["example"] == {"custid": 9, "bal": "-1.50"}
    bank.connection.execute("delete from savings where custid = 9")
    (_, accounts) = SMALLBANK.check_conditions(bank.target, bank.connection)
    assert accounts.example == {"custid": 9, "customers": 1, "savings": 0, "checkings": 1}
    bank.connection.execute(f"insert into savings values (9, {kept})")
    code, answer = command("check", "smallbank", "--target", bank.server.url)
    assert (code, answer["broken"]) == (0, [])


DONE = {
    "deposit-checking": Committed(10, 10),
    "savings-deposit": Committed(3, 3),
    "savings-withdrawal": Committed(5, 5),
    "write-check": Committed(4, 4),
}


@pytest.mark.parametrize(
    ("change", "is_kept"),
    [
        (10 * 130 - 2 * 2020 - 4 * 507, True),
        (10 * 130 - 2 * 2020 - 4 * 507 - 300, True),  # three penalties
        (10 * 130 - 2 * 2020 - 4 * 507 - 500, False),  # more than there were checks
        (9 * 130 - 2 * 2020 - 4 * 507, False),  # a lost deposit
        (9 * 130 - 2 * 2020 - 4 * 507 - 100, False),
        (10 * 130 - 1 * 2020 - 4 * 507, False),  # a lost withdrawal
        (10 * 130 - 2 * 2020 - 3 * 507 - 300, False),  # a lost check
    ],
)
def test_what_is_lost_is_missed(change: int, is_kept: bool) -> None:
    values = SMALLBANK.complete({})
    numbers = dict.fromkeys(SMALLBANK.measures(values), 0)
    found = SMALLBANK.verify(values, numbers, {**numbers, MONEY: change}, DONE)
    assert [one.law for one in found] == ([] if is_kept else ["sum of amounts"])


def test_a_deposit_whose_end_was_not_seen_may_count() -> None:
    values = SMALLBANK.complete({})
    numbers = dict.fromkeys(SMALLBANK.measures(values), 0)
    done = {name: Committed(0, 0) for name in DONE} | {"deposit-checking": Committed(9, 11)}
    kept = {
        deposits: not SMALLBANK.verify(values, numbers, {**numbers, MONEY: deposits * 130}, done)
        for deposits in (8, 9, 11, 12)
    }
    assert kept == {8: False, 9: True, 11: True, 12: False}


def test_all_customers_are_hot_if_there_are_not_more() -> None:
    given = SMALLBANK.complete({"customers": 50, "hot_customers": 80})
    found = SMALLBANK.variables(given, 1, 1)
    assert (found["hot_customers"], found["hot_percent"]) == (50, 100)


def test_both_mixes_have_the_weights_of_their_papers() -> None:
    shares = {}
    for mix in ("paper", "payments"):
        scripts = SMALLBANK.scripts(SMALLBANK.complete({"mix": mix}), "postgresql")
        total = sum(script.weight for script in scripts)
        share: collections.Counter[str] = collections.Counter()
        for script in scripts:
            kind = "transact" if script.name.startswith("savings-") else script.name
            share[kind] += script.weight
        shares[mix] = {name: weight / total for name, weight in share.items()}
    assert set(shares["paper"].values()) == {0.2}
    assert len(shares["paper"]) == 5
    assert shares["payments"].pop("send-payment") == 0.25
    assert set(shares["payments"].values()) == {0.15}
