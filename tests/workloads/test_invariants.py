"""Invariants hold in correct runs and are violated by planted damage."""

import random
from typing import Any

import pytest
from psycopg import Connection

from dbdyno.databases.postgresql.over_postgresql import ADAPTER
from dbdyno.errors import DbdynoError
from dbdyno.workloads.base import Workload
from dbdyno.workloads.invariants import Bounded, Committed, Violation, violations
from dbdyno.workloads.registry import find_workload
from tests.workloads.conftest import Prepare

TRANSACTIONS = 20
EXACTLY = Committed(TRANSACTIONS, TRANSACTIONS)


def run_script(connection: Connection, workload: Workload, **given: Any) -> None:
    """Executes the workload's own statements with values that a client might draw."""
    chance = random.Random(1)
    (script,) = workload.scripts(workload.complete(given), "postgresql")
    statements = [line for line in script.text.splitlines() if not line.startswith(("--", "\\"))]
    for _ in range(TRANSACTIONS):
        drawn = {"aid": chance.randint(1, 100_000), "id": chance.randint(1, 100_000)}
        drawn |= {"tid": chance.randint(1, 10), "bid": 1, "delta": chance.randint(-5000, 5000)}
        for statement in statements:
            text = statement
            for name, value in drawn.items():
                text = text.replace(f":{name}", str(value))
            connection.execute(text)  # type: ignore[call-overload]


def judge(
    connection: Connection,
    name: str,
    committed: Committed = EXACTLY,
    damage: str = "select 1",
    **given: Any,
) -> list[Violation]:
    workload = find_workload(name)
    values = workload.complete(given)
    (script,) = workload.scripts(values, "postgresql")
    before = workload.snapshot(ADAPTER, connection, values)
    run_script(connection, workload, **given)
    connection.execute(damage)  # type: ignore[call-overload]
    after = workload.snapshot(ADAPTER, connection, values)
    return workload.verify(values, before, after, {script.name: committed})


@pytest.mark.parametrize("name", ["tpcb", "simple-update", "select-only"])
def test_honest_runs_break_nothing(prepare: Prepare, connection: Connection, name: str) -> None:
    prepare("tpcb")
    workload = find_workload(name)
    assert judge(connection, "simple-update") == []  # used data passes like fresh data
    assert judge(connection, name) == []
    assert violations(workload.check(ADAPTER, connection, workload.complete({}))) == []


@pytest.mark.parametrize("operation", ["select", "update", "insert"])
def test_honest_runs_of_pk(prepare: Prepare, connection: Connection, operation: str) -> None:
    prepare("pk")
    assert judge(connection, "pk", operation=operation) == []
    workload = find_workload("pk")
    assert violations(workload.check(ADAPTER, connection, workload.complete({}))) == []


@pytest.mark.parametrize(
    ("damage", "law"),
    [
        ("update pgbench_accounts set abalance = abalance + 1 where aid = 7", "same change"),
        ("update pgbench_tellers set tbalance = tbalance + 1 where tid = 7", "same change"),
        ("update pgbench_branches set bbalance = bbalance + 1", "same change"),
        ("insert into pgbench_history (delta) values (0)", "one per transaction"),
        ("insert into pgbench_tellers (tid, tbalance) values (11, 0)", "unchanged"),
    ],
)
def test_damage_is_seen(prepare: Prepare, connection: Connection, damage: str, law: str) -> None:
    prepare("tpcb")
    assert [violation.law for violation in judge(connection, "tpcb", damage=damage)] == [law]


def test_rows_that_a_policy_hides_are_no_damage(prepare: Prepare, connection: Connection) -> None:
    """They would be missing from one sum and not from another."""
    prepare("tpcb")
    workload = find_workload("tpcb")
    values = workload.complete({})
    connection.execute("alter table pgbench_accounts enable row level security")
    connection.execute("alter table pgbench_accounts force row level security")
    connection.execute("create role reader")
    connection.execute("grant select on all tables in schema public to reader")
    connection.execute("set role reader")
    try:
        with pytest.raises(DbdynoError) as caught, ADAPTER.understood("check"):
            workload.snapshot(ADAPTER, connection, values)
    finally:
        connection.execute("reset role")
        connection.execute("drop owned by reader; drop role reader")
    assert caught.value.code == "no_rights"
    assert "row-level security" in caught.value.message


@pytest.mark.parametrize(
    "damage",
    [
        "update pgbench_accounts set abalance = abalance + 1 where aid = 7",
        "update pgbench_tellers set tbalance = tbalance + 1 where tid = 7",
        "delete from pgbench_accounts where aid = 7",
    ],
)
def test_check_sees_damage(prepare: Prepare, connection: Connection, damage: str) -> None:
    prepare("tpcb")
    connection.execute(damage)  # type: ignore[call-overload]
    workload = find_workload("tpcb")
    assert len(violations(workload.check(ADAPTER, connection, workload.complete({})))) == 1


def test_a_lost_commit_is_seen(prepare: Prepare, connection: Connection) -> None:
    prepare("tpcb")
    more = Committed(TRANSACTIONS + 1, TRANSACTIONS + 3)
    assert [violation.message for violation in judge(connection, "tpcb", more)] == [
        "rows of pgbench_history grew by 20, but 21 to 23 transactions of tpcb were committed"
    ]


def test_more_than_was_committed_asks_for_another_program(
    prepare: Prepare, connection: Connection
) -> None:
    prepare("tpcb")
    fewer = Committed(TRANSACTIONS - 1, TRANSACTIONS - 1)
    assert [violation.message for violation in judge(connection, "tpcb", fewer)] == [
        "rows of pgbench_history grew by 20, but 19 transactions of tpcb were committed: "
        "did another program write at the same time?"
    ]


def test_transactions_whose_end_was_not_seen_may_count(
    prepare: Prepare, connection: Connection
) -> None:
    prepare("tpcb")
    assert judge(connection, "tpcb", Committed(TRANSACTIONS - 2, TRANSACTIONS + 2)) == []


@pytest.mark.parametrize(
    ("operation", "damage"),
    [("update", "delete from tbl where id = 7"), ("insert", "insert into tbl default values")],
)
def test_damage_to_pk_is_seen(
    prepare: Prepare, connection: Connection, operation: str, damage: str
) -> None:
    prepare("pk")
    assert len(judge(connection, "pk", damage=damage, operation=operation)) == 1


@pytest.mark.parametrize(
    ("grown", "is_kept"),
    [(1800, True), (1900, True), (2000, True), (0, False), (1950, False), (2100, False)],
)
def test_each_transaction_of_bulk_insert_leaves_all_its_rows(grown: int, is_kept: bool) -> None:
    workload = find_workload("bulk_insert")
    values = workload.complete({})
    committed = {"bulk_insert": Committed(18, 20)}
    found = workload.verify(values, {"rows": 7}, {"rows": 7 + grown}, committed)
    expected = (
        f"rows grew by {grown}, but 18 to 20 transactions of bulk_insert were committed, each"
    )
    cause = ": did another program write at the same time?" if grown > 2000 else ""
    assert [violation.message for violation in found] == (
        [] if is_kept else [f"{expected} with 100{cause}"]
    )


@pytest.mark.parametrize(
    ("least", "most", "change", "is_kept"),
    [
        (0, 2, 40, True),
        (0, 2, 41, False),
        (-1, 0, -20, True),
        (-1, 0, -21, False),
        (-1, 0, 1, False),
        (1, 2, 18, True),  # only 18 are certain
        (1, 2, 17, False),
        (-2, -1, -18, True),
        (-2, -1, -17, False),
    ],
)
def test_bounds_hold_for_what_is_certain_and_what_may_be(
    least: int, most: int, change: int, is_kept: bool
) -> None:
    law = Bounded("rows", "script", least, most)
    broken = law.broken({"rows": change}, {"script": Committed(18, 20)})
    assert (broken is None) == is_kept
