"""Several servers for one load: who gets it, and where it goes when one of them fails."""

import os
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from dbdyno.servers.private import PrivateServer, start_private
from dbdyno.servers.spec import parse_spec
from tests.support.ended import record_of
from tests.support.patience import wait_until

SHORT = ("-T", "4", "--warmup", "0", "--max-disturbance", "100%", "--max-failures", "100%")
LONG = ("-T", "15", *SHORT[2:])  # something happens once the load is there, and shows its effect
WRITES = "insert into counted (client) values (:client_id);\n"


def dbdyno(*words: object) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "dbdyno", "run", *map(str, words), "--json"]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


@pytest.fixture
def writes(tmp_path: Path) -> Path:
    script = tmp_path / "writes.sql"
    script.write_text(WRITES)
    return script


@pytest.fixture(params=["postgres", "mariadb"])
def pair(request) -> Iterator[tuple[PrivateServer, PrivateServer]]:
    """A primary with a table to write in, and its standby."""
    with start_private(parse_spec(f"{request.param},standbys=1"), connections=30) as server:
        with server.connect() as connection:
            connection.execute("create table counted (client integer)")
        server.wait_for_standbys(lambda _: None)
        yield server, server.standbys[0]


@contextmanager
def two_that_take_writes() -> Iterator[tuple[PrivateServer, PrivateServer]]:
    """Two servers that know nothing of each other, each with a table of its own."""
    with (
        start_private(parse_spec("postgres"), connections=30) as one,
        start_private(parse_spec("postgres"), connections=30) as other,
    ):
        for server in (one, other):
            with server.connect() as connection:
                connection.execute("create table counted (client integer)")
        yield one, other


def transactions_of(record: dict[str, Any]) -> list[int]:
    return [one["transactions"] for one in record["servers"]]


def sum_of_rates(record: dict[str, Any]) -> float:
    return sum(one["tps"] for one in record["servers"])


ROWS = "select count(*) from counted"
AT_WORK = (
    "select count(*) from pg_stat_activity where query like 'select count(*) from counted%'"
    " and query_start > backend_start + interval '1 s' and pid <> pg_backend_pid()"
)
"""Sessions of the load, which have gone on for a second."""


@contextmanager
def once_it_works(
    server: PrivateServer, act: Callable[[], None], asked: str = ROWS, more: int = 100
) -> Iterator[None]:
    """Act beside the block, when what is asked has grown by this much: the load is there."""
    over = threading.Event()
    with server.connect() as connection:
        (before,) = connection.execute(asked).fetchone()

    def watch() -> None:
        with server.connect() as connection:

            def is_there() -> bool:
                (found,) = connection.execute(asked).fetchone()
                return over.is_set() or found >= before + more

            wait_until(is_there, "the load works")
        if not over.is_set():
            act()

    beside = threading.Thread(target=watch)
    beside.start()
    try:
        yield
    finally:
        over.set()
        beside.join()


def test_what_writes_goes_only_to_servers_that_take_writes(home, pair, writes):
    primary, standby = pair
    ended = dbdyno(writes, "--target", f"{primary.url},{standby.url}", "-c", "4", *SHORT)
    record = record_of(ended)
    assert record["failures"] == []
    assert not any(doubt.startswith("partly elsewhere: ") for doubt in record["doubts"])
    assert [one["takes_writes"] for one in record["servers"]] == [True, False]
    written, read = transactions_of(record)
    assert (written > 50, read) == (True, 0)
    assert [one["name"] for one in record["servers"]] == [primary.url, standby.url]
    assert "--further-target" in record["command"], "the command repeats the run"


def test_the_load_moves_to_the_server_that_takes_its_place(home, pair, writes):
    """A supervisor of the user's promotes the standby, and dbdyno only knows the addresses."""
    primary, standby = pair

    def take_over() -> None:
        primary.kill()
        standby.promote()

    with once_it_works(primary, take_over):
        ended = dbdyno(
            *(writes, "--target", primary.url, "--further-target", standby.url, "-c", "4"),
            *LONG,
        )
    record = record_of(ended)
    assert {failure["class"] for failure in record["failures"]} <= {"connection"}
    first, second = record["servers"]
    assert min(transactions_of(record)) > 50
    assert (first["connections_lost"], second["connects"]) == (4, 4)


def test_an_event_is_measured_by_the_way_of_the_load(home, writes):
    """The witness moves as the load does, and what it was told is looked for where it went."""
    with start_private(parse_spec("postgres,standbys=1"), connections=30) as primary:
        (standby,) = primary.standbys
        with primary.connect() as connection:
            connection.execute("create table counted (client integer)")
        primary.wait_for_standbys(lambda _: None)
        folder = shlex.quote(str(primary.data_directory))
        kill = f"kill -9 $(head -1 {folder}/postmaster.pid)"
        promote = f"psql {shlex.quote(standby.url)} -c 'select pg_promote()'"
        ended = dbdyno(
            *(writes, "--target", f"{primary.url},{standby.url}", "-c", "4"),
            *("-T", "10", *SHORT[2:], "--event", f"2s:exec:{kill}; {promote}"),
        )
    record = record_of(ended)
    (failover,) = record["failovers"]
    assert failover["error"] == ""
    assert failover["first_error_ms"] < failover["first_commit_ms"] < 8000
    assert failover["lost"] is not None
    assert failover["loss_allowed_ms"] is None, "how far the standby followed decides"
    assert min(transactions_of(record)) > 50


def test_a_server_that_is_made_to_read_only_is_left(home, writes):
    """A planned change of roles: sessions stay, and their next write is refused."""
    with start_private(parse_spec("mariadb,standbys=1"), connections=30) as primary:
        (standby,) = primary.standbys
        user = _common_user(primary)
        primary.wait_for_standbys(lambda _: None)

        def switch() -> None:
            with primary.connect() as old, standby.connect() as new:
                old.execute("set global read_only = 1")
                new.execute("set global read_only = 0")

        targets = [one.url.replace("root@", f"{user}@") for one in (primary, standby)]
        with once_it_works(primary, switch):
            ended = dbdyno(writes, "--target", ",".join(targets), "-c", "4", *LONG)
        record = record_of(ended)
    assert min(transactions_of(record)) > 0
    assert {failure["class"] for failure in record["failures"]} == {"connection"}
    assert sum(failure["count"] for failure in record["failures"]) == 4


def _common_user(primary: PrivateServer) -> str:
    """Create a user who may write, but not on a server that is read-only."""
    with primary.connect() as connection:
        connection.execute("create table counted (client integer)")
        connection.execute("create user clerk@localhost")
        connection.execute("grant select, insert on *.* to clerk@localhost")
    return "clerk"


def test_servers_that_all_take_writes_share_them(home, writes):
    """One of two is killed: those that were there go on at the other."""
    with two_that_take_writes() as (one, other):
        targets = f"{one.url},{other.url}"
        shared = record_of(dbdyno(writes, "--target", targets, "-c", "4", *SHORT))
        assert min(transactions_of(shared)) > 50
        assert sum_of_rates(shared) == pytest.approx(shared["throughput_tps"]["value"])
        assert [server["connects"] for server in shared["servers"]] == [0, 0]
        assert any(doubt.startswith("partly elsewhere: ") for doubt in shared["doubts"])
        with once_it_works(other, other.kill):
            left = record_of(dbdyno(writes, "--target", targets, "-c", "4", "-C", *LONG))
    first, second = left["servers"]
    assert second["connections_lost"] + second["connects_failed"] > 0
    assert first["transactions"] > second["transactions"]


def test_readers_move_to_the_next_standby(home, tmp_path):
    reads = tmp_path / "reads.sql"
    reads.write_text("select count(*) from counted;\n")
    with start_private(parse_spec("postgres,standbys=2"), connections=30) as primary:
        with primary.connect() as connection:
            connection.execute("create table counted (client integer)")
            connection.execute("insert into counted select 1 from generate_series(1, 100)")
        primary.wait_for_standbys(lambda _: None)
        gone, left = primary.standbys
        with once_it_works(gone, gone.kill, AT_WORK, more=1):
            ended = dbdyno(
                *(f"{reads}@read", "-c", "4", *LONG),
                *("--target", ",".join(one.url for one in (primary, gone, left))),
            )
        record = record_of(ended)
    _, first, second = record["servers"]
    assert first["connections_lost"] > 0
    assert second["transactions"] > first["transactions"]
    assert transactions_of(record)[0] == 0, "what reads stays on standbys"


def test_a_script_that_reads_is_spread_over_servers_that_only_read(home, tmp_path):
    """The first target decides: where it takes no writes, nobody is asked for them."""
    reads = tmp_path / "reads.sql"
    reads.write_text("select 1;\n")
    with start_private(parse_spec("postgres,standbys=1"), connections=30) as primary:
        (standby,) = primary.standbys
        ended = dbdyno(reads, "--target", f"{standby.url},{primary.url}", "-c", "4", *SHORT)
    record = record_of(ended)
    assert [one["takes_writes"] for one in record["servers"]] == [False, True]
    assert min(transactions_of(record)) > 50


def test_a_server_that_falls_silent_is_left_when_connects_take_too_long(home, writes):
    """Stopped as a whole, it breaks nothing and answers nobody; the workers share the load."""
    with (
        start_private(parse_spec("postgres"), connections=30) as one,
        start_private(parse_spec("postgres"), connections=30) as other,
    ):
        for server in (one, other):
            with server.connect() as connection:
                connection.execute("create table counted (client integer)")

        def stop() -> None:
            os.kill(other.process_id, signal.SIGSTOP)

        targets = ",".join(f"{server.url}&connect_timeout=2" for server in (one, other))
        try:
            with once_it_works(other, stop):
                ended = dbdyno(
                    *(writes, "--target", targets, "-c", "4", "-C", "--workers", "local*2"),
                    *LONG,
                )
        finally:
            os.kill(other.process_id, signal.SIGCONT)
    record = record_of(ended)
    first, second = record["servers"]
    assert second["connects_failed"] > 0
    assert first["transactions"] > second["transactions"] > 0
    assert sum_of_rates(record) == pytest.approx(record["throughput_tps"]["value"])
