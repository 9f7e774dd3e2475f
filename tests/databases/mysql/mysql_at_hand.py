"""What MySQL does differently from MariaDB, on a MySQL that the developer has.

    MYSQL_BASE=/opt/mysql .venv/bin/python -m pytest tests/databases/mysql/mysql_at_hand.py

``MYSQL_BASE`` is the folder of its ``bin``. Distributions have no MySQL beside MariaDB, so these
tests are not part of ``make test``, which selects files by their names and skips nothing.
"""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dbdyno.cli import main
from dbdyno.databases.connection import Connection
from dbdyno.databases.mysql.driver.connecting import open_connection
from dbdyno.databases.mysql.telemetry import TELEMETRY
from dbdyno.servers.base import Server
from dbdyno.servers.private import start_private
from dbdyno.servers.spec import ServerSpec
from tests.support.ended import ENDED
from tests.support.patience import eventually

BASE = Path(os.environ.get("MYSQL_BASE", "MYSQL_BASE is not set"))
SMALL = {"innodb_buffer_pool_size": "64M", "innodb_redo_log_capacity": "8M"}
FILLED = "insert into t (v) with recursive n (i) as (select 1 union all select i + 1 from n \
    where i < 500) select repeat('x', 2000) from n"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    spec = ServerSpec("mysql", path=BASE, settings=SMALL)
    with start_private(spec, connections=8) as started:
        yield started


@pytest.fixture
def watcher(server: Server) -> Iterator[Connection]:
    with server.connect() as connection:
        TELEMETRY.begin(connection)
        yield connection


def read(watcher: Connection, name: str) -> dict[str, float]:
    given, _ = TELEMETRY.sources(watcher, [])
    (source,) = [one for one in given if one.name == name]
    return dict(source.read(watcher)[""])


def test_nothing_is_missing(watcher: Connection) -> None:
    assert TELEMETRY.sources(watcher, [])[1] == []


def test_rows_are_those_of_now(server: Server, watcher: Connection) -> None:
    rows = "select table_rows from information_schema.tables where table_name = 'fresh'"
    with server.connect() as writer:
        writer.execute("create table fresh (id int auto_increment primary key, v varchar(2000))")
        assert writer.execute(rows).fetchone() == (0,)  # which is kept for a day
        writer.execute(FILLED.replace(" t ", " fresh "))
        eventually(lambda: watcher.execute(rows).fetchone()[0], lambda found: found > 0)
        writer.execute("drop table fresh")


def test_an_account_of_sha256_password_is_let_in_over_a_socket(server: Server) -> None:
    """Its server accepts the password itself only over TLS; the engine's way is recorded."""
    created = "create user {} identified with sha256_password by '{}'"
    with server.connect() as connection:
        connection.execute(created.format("old", "s3cret"))
        connection.execute(created.format("nobody", ""))
    socket = server.endpoint().address.unix
    assert socket
    for login in ("old:s3cret", "nobody"):
        with open_connection(f"mysql://{login}@localhost/?socket={socket.path}") as connection:
            assert connection.execute("select 1").fetchall() == ((1,),)


def test_a_transaction_that_only_reads_has_an_age(server: Server, watcher: Connection) -> None:
    with server.connect() as idle:
        idle.execute("start transaction with consistent snapshot")
        time.sleep(1.1)  # the server counts whole seconds
        sums = read(watcher, "sessions")
    assert sums["idle_in_transaction"] == 1
    assert sums["oldest_idle_in_transaction_s"] >= 1


def test_sessions_wait_where_the_redo_log_ends(server: Server, watcher: Connection) -> None:
    """The load fills the whole log: its age comes near the limit, and does not exceed it."""
    filled = []
    with server.connect() as writer:
        writer.execute("create table t (id int auto_increment primary key, v varchar(2000))")
        for _ in range(40):
            writer.execute(FILLED)
            log = read(watcher, "wal_position")
            filled.append(log["age_bytes"] / log["age_max_bytes"])
        writer.execute("drop table t")
    assert 0.8 < max(filled) <= 1


def test_a_hot_row_is_named(tmp_path: Path, monkeypatch, capfd) -> None:
    """From the locks in the performance schema, which MariaDB does not have."""
    monkeypatch.setenv("DBDYNO_HOME", str(tmp_path))
    arguments = ["run", "tpcb", "--server", f"mysql:{BASE}", "-c", "16", "-T", "4", "--warmup", "1"]
    settings = [word for pair in SMALL.items() for word in ("--set", "=".join(pair))]
    assert main([*arguments, *settings, "--telemetry", "full", "--json"]) in ENDED
    named = [finding["id"] for finding in json.loads(capfd.readouterr().out)["findings"]]
    assert named[0] == "row_lock_convoy"


def test_sorts_that_go_to_disk_are_named(
    server: Server, tmp_path: Path, monkeypatch, capfd
) -> None:
    monkeypatch.setenv("DBDYNO_HOME", str(tmp_path))
    script = tmp_path / "sort.sql"
    script.write_text(
        "select count(*) from (select v, id from t order by v, id desc limit 99999) as sorted;\n",
        encoding="utf-8",
    )
    with server.connect() as connection:
        connection.execute("set global sort_buffer_size = 32768")
        connection.execute("create table t (id int auto_increment primary key, v varchar(2000))")
        for _ in range(4):
            connection.execute(FILLED)
    arguments = ["run", str(script), "--target", server.url, "-c", "2", "-T", "4", "--warmup", "0"]
    assert main([*arguments, "--telemetry", "full", "--json"]) in ENDED
    named = [finding["id"] for finding in json.loads(capfd.readouterr().out)["findings"]]
    assert "temporary_files" in named
    with server.connect() as connection:
        connection.execute("drop table t")
        connection.execute("set global sort_buffer_size = default")
