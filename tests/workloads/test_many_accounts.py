"""Runs that check only some of pgbench's accounts, and what they still detect, on real servers.

The number from which this applies takes long to load: here a small number counts as large.
"""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from dbdyno.cli import main
from dbdyno.databases.adapter import Adapter
from dbdyno.databases.adapters import native_adapter
from dbdyno.databases.connection import Connection
from dbdyno.servers.base import Server
from dbdyno.workloads import rows_read
from dbdyno.workloads.invariants import Committed, Snapshot, violations
from dbdyno.workloads.registry import find_workload
from tests.support.ended import ENDED, assert_sound

TPCB = find_workload("tpcb")
VALUES = TPCB.complete({})
WHOLE = {"sum of abalance", "rows of pgbench_accounts"}
SOME = {"sum of abalance of 1000 accounts", "rows of 1000 accounts"}
NOTHING_DONE = {"tpcb": Committed(0, 0)}
ADD = "update pgbench_accounts set abalance = abalance + 7 where aid = "
DAMAGE = {
    f"{ADD} 100": ["same change"],
    f"{ADD} 100000": ["same change"],
    "delete from pgbench_accounts where aid = 60": ["unchanged"],
    "update pgbench_tellers set tbalance = tbalance + 7 where tid = 3": ["same change"],
    f"{ADD} 101": [],  # not one of the accounts checked
}


@pytest.fixture(params=["postgres_server", "mariadb_server"])
def server(request: pytest.FixtureRequest, new_database: Callable[[Server], Server]) -> Server:
    return new_database(request.getfixturevalue(request.param))


@pytest.fixture(autouse=True)
def _few_are_many(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    monkeypatch.setattr(rows_read, "ROWS_READ_MAX", 99_999)
    monkeypatch.setattr(rows_read, "ROWS_OF_STRETCH", 100)


def test_a_run_checks_some_accounts_and_reports_which(
    server: Server, capfd: pytest.CaptureFixture[str]
) -> None:
    short = ("-c", "2", "-t", "500", "--warmup", "0", "--telemetry", "off", "--json")
    for name in ("tpcb", "simple-update", "select-only"):
        assert main(["run", name, "--target", server.url, *short]) in ENDED
        record = json.loads(capfd.readouterr().out)
        assert_sound(record["invalid_reasons"])
        assert SOME | {"rows of pgbench_history"} <= {*record["invariants_read"]}
        assert not WHOLE & {*record["invariants_read"]}
    with server.connect() as connection:
        assert measured(server, connection)["sum of delta of 1000 accounts"] != 0


def test_damage_to_the_checked_rows_is_detected_and_a_check_detects_all(server: Server) -> None:
    assert main(["load", "tpcb", "--target", server.url]) == 0
    with server.connect() as connection:
        for damage, laws in DAMAGE.items():
            before = measured(server, connection)
            connection.execute(damage)
            after = measured(server, connection)
            broken = TPCB.verify(VALUES, before, after, NOTHING_DONE)
            assert [violation.law for violation in broken] == laws, damage
        found = violations(TPCB.check(target_of(server), connection, VALUES))
    # Three accounts have grown by 7 each, and one is missing.
    assert "sum of abalance by +21" in found[0].message
    assert "rows of pgbench_accounts by -1" in found[-1].message


def target_of(server: Server) -> Adapter:
    return native_adapter(server.endpoint().protocol)


def measured(server: Server, connection: Connection) -> Snapshot:
    return TPCB.snapshot(target_of(server), connection, VALUES)
