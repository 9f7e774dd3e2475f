"""Workloads as users run them, on both kinds of server, with the real engine."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from dbdyno.servers.base import Server
from dbdyno.servers.existing import use_existing
from dbdyno.workloads.registry import all_workloads

SHORT = ("-c", "4", "-t", "40", "--warmup", "0", "--telemetry", "off", "--json")


@pytest.fixture(params=["postgres_server", "mariadb_server"])
def server(request: pytest.FixtureRequest) -> Server:
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="module")
def of_family() -> Callable[[Server, str], Server]:
    """A database for each family of data: workloads that share it run on it in turn."""

    @cache
    def make(url: str, data: str) -> Server:
        with use_existing(url).connect() as connection:
            connection.execute(f"create database family_{data}")
        return use_existing(re.sub(r"/(postgres|dbdyno)(?=\?)", f"/family_{data}", url))

    return lambda server, data: make(server.url, data)


def run(server: Server, *arguments: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "dbdyno", "run", *arguments, "--target", server.url, *SHORT]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert ended.stdout, ended.stderr
    return json.loads(ended.stdout)


@pytest.mark.parametrize("name", [*all_workloads()])
def test_every_workload_runs_and_keeps_its_laws(server: Server, of_family, name: str) -> None:
    record = run(of_family(server, all_workloads()[name].data), name)
    collide = name in ("oltp_read_write", "oltp_write_only")
    allowed = {"duplicate_key", "deadlock"} if collide else set()
    assert {failure["class"] for failure in record["failures"]} <= allowed
    assert record["transactions"]["ok"] > 150
    assert not [reason for reason in record["invalid_reasons"] if "failed" not in reason]
    assert record["server"]["promise"] == "full"


def test_many_tables_are_chosen_from(server: Server, new_database) -> None:
    record = run(new_database(server), "oltp_point_select", "-D", "tables=5", "-D", "table_size=50")
    counts = [statement["count"] for statement in record["statements"]]
    assert len(counts) == 5
    assert sum(counts) == 160
    assert min(counts) > 10


@pytest.mark.parametrize("mode", ["simple", "prepared"])
def test_colliding_clients_are_reported_and_can_be_separated(
    postgres_server: Server, new_database, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.setenv("PGOPTIONS", "-c deadlock_timeout=10ms")
    server = new_database(postgres_server)
    crowded = ("oltp_write_only", "-D", "table_size=4", "-D", "skip_trx=off", "-M", mode)
    colliding = run(server, *crowded)
    assert {failure["class"] for failure in colliding["failures"]} & {"duplicate_key", "deadlock"}
    apart = run(server, *crowded, "-D", "collisions=off")
    assert apart["failures"] == []
    assert apart["transactions"]["ok"] == 160
