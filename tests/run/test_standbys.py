"""Standbys beside the load: which scripts run there, and how old what they see is."""

import json
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from dbdyno.analysis.waits.processor_time import processor_time
from dbdyno.model.plan import Address
from dbdyno.run.bystanders.probe import Reader
from dbdyno.run.standbys.finding import Standby
from dbdyno.servers.private import PrivateServer, start_private
from dbdyno.servers.spec import parse_spec
from dbdyno.store.run import open_run
from tests.store.hdr import HISTOGRAMS
from tests.support.ended import record_of
from tests.support.patience import wait_until

ON_STANDBY = "select 1 / pg_is_in_recovery()::int;\n"
ON_PRIMARY = "select 1 / (not pg_is_in_recovery())::int;\n"
# MariaDB divides by 0; a subquery of two rows fails.
ON_STANDBY_OF_MARIADB = "select if(@@global.read_only, 1, (select 1 union select 2));\n"
ON_PRIMARY_OF_MARIADB = "select if(@@global.read_only, (select 1 union select 2), 1);\n"
SHORT = ("-T", "3", "--warmup", "0", "--max-disturbance", "100%")


def dbdyno(*words: object) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "dbdyno", "run", *map(str, words), "--json"]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


@pytest.fixture
def scripts(tmp_path: Path) -> tuple[Path, Path]:
    reads, writes = tmp_path / "reads.sql", tmp_path / "writes.sql"
    reads.write_text(ON_STANDBY)
    writes.write_text(ON_PRIMARY)
    return reads, writes


def transactions_of(record: dict[str, Any]) -> list[int]:
    return [script["ok"] for script in record["scripts"]]


@pytest.mark.parametrize("words", [(), ("-C",), ("-M", "simple", "--rate", "200")])
def test_each_script_runs_where_its_role_says(home, scripts, words):
    reads, writes = scripts
    ended = dbdyno(
        *(f"{reads}@3@read", f"{writes}@1@write", "--server", "postgres,standbys=2"),
        *("-c", "4", "--seed", "1", *SHORT, *words),
    )
    record = record_of(ended)
    assert record["failures"] == []
    read, written = transactions_of(record)
    assert read > written > 0
    assert [one["name"] for one in record["standbys"]] == ["standby 1", "standby 2"]
    assert [one["clients"] for one in record["standbys"]] == [2, 2]
    assert "each of 4 clients has a second connection" in ended.stderr


def test_the_work_of_standbys_is_the_runs_own(home, scripts):
    """They are no other programs that disturb it, however much they do."""
    reads, writes = scripts
    record = record_of(
        dbdyno(
            *(f"{reads}@9@read", f"{writes}@1@write", "--server", "postgres,standbys=1"),
            *("-c", "8", "-T", "4", "--warmup", "0", "--max-disturbance", "100%"),
        )
    )
    run = open_run(record["run_id"]).load(HISTOGRAMS)
    used = processor_time(run)
    assert used is not None
    assert used.further_servers > used.server / 2


@pytest.mark.parametrize(
    ("product", "on_standby", "on_primary"),
    [
        ("postgres", ON_STANDBY, ON_PRIMARY),
        ("mariadb", ON_STANDBY_OF_MARIADB, ON_PRIMARY_OF_MARIADB),
    ],
    ids=["postgres", "mariadb"],
)
def test_roles_hold_in_each_of_several_workers(home, tmp_path, product, on_standby, on_primary):
    """Clients are dealt to the standbys by their number, whatever worker they are in."""
    reads, writes = tmp_path / "reads.sql", tmp_path / "writes.sql"
    reads.write_text(on_standby)
    writes.write_text(on_primary)
    record = record_of(
        dbdyno(
            *(f"{reads}@3@read", f"{writes}@1", "--server", f"{product},standbys=2"),
            *("-c", "4", "--workers", "local*2", *SHORT),
        )
    )
    assert record["failures"] == []
    read, written = transactions_of(record)
    assert read > written > 0
    assert [one["clients"] for one in record["standbys"]] == [2, 2]
    assert [worker["clients"] for worker in record["workers"]] == [2, 2]
    assert all(worker["transactions"] > 0 for worker in record["workers"])


@pytest.mark.parametrize("product", ["postgres", "mariadb"])
def test_scripts_fail_where_they_should_not_run(home, tmp_path, product):
    """The scripts of these tests tell a standby from its primary."""
    script = tmp_path / "reads.sql"
    script.write_text(ON_STANDBY if product == "postgres" else ON_STANDBY_OF_MARIADB)
    ended = dbdyno(script, "--server", product, "-c", "1", *SHORT)
    assert ended.returncode != 0
    assert json.loads(ended.stdout)["failures"]


def test_the_lag_of_mariadbs_standbys_is_measured(home, tmp_path):
    script = tmp_path / "writes.sql"
    script.write_text("insert into t (v) values (1);\n")
    with start_private(parse_spec("mariadb,standbys=1"), connections=30) as server:
        (standby,) = server.standbys
        with server.connect() as connection, standby.connect() as following:
            connection.execute("create table t (id int auto_increment primary key, v int)")
            connection.execute("create user clerk@'%'")
            connection.execute("grant all on dbdyno.* to clerk@'%'")
            connection.execute("grant binlog monitor, slave monitor on *.* to clerk@'%'")
            server.wait_for_standbys(print)
            following.execute("stop slave")
            following.execute("change master to master_delay = 2")
            following.execute("start slave")
        reads = tmp_path / "reads.sql"
        reads.write_text(ON_STANDBY_OF_MARIADB)
        primary, other = (
            one.url.replace(f"{one.endpoint().user}@", "clerk@") for one in (server, standby)
        )
        targets = ("--target", primary, "--further-target", other)
        load = (script, f"{reads}@read", *targets, "-c", "2", *SHORT[2:], "-T", "6")
        records = []
        for _ in range(2):
            began_s = time.monotonic()
            ended = dbdyno(*load)
            records.append((record_of(ended), 1000 * (time.monotonic() - began_s)))
            with server.connect() as connection:
                connection.execute("flush binary logs")  # the standby is a file behind
    for record, took_ms in records:
        (one,) = record["standbys"]
        assert one["name"] == other
        assert 1000 < one["replay_lag_max_ms"] < took_ms
        assert one["replay_lag_p50_ms"] <= one["replay_lag_max_ms"]
        assert one["lag_bytes_max"] > 1000
        assert one["staleness_max_ms"] > 1000


def test_a_private_mariadb_standby_has_a_lag(home, tmp_path):
    script = tmp_path / "writes.sql"
    script.write_text("do sleep(0.01);\n")
    page = tmp_path / "report.html"
    record = record_of(
        dbdyno(script, "--server", "mariadb,standbys=1", "-c", "1", *SHORT, "--report", page)
    )
    (one,) = record["standbys"]
    assert one["lag_bytes_max"] is not None
    assert one["replay_lag_p50_ms"] is not None
    assert 'id="standbys-chart"' in page.read_text()


def test_a_failed_block_on_a_standby_is_rolled_back_there(home, tmp_path):
    script = tmp_path / "fails.sql"
    script.write_text("\\set x random(0, 1)\nbegin;\nselect 1 / :x;\nend;\n")
    record = record_of(
        dbdyno(
            *(f"{script}@read", "--server", "postgres,standbys=1", "-c", "2", *SHORT),
            *("--max-failures", "100%"),
        )
    )
    assert {failure["code"] for failure in record["failures"]} == {"22012"}
    assert transactions_of(record)[0] > 0


def test_clients_return_to_a_standby_that_they_have_lost(home, scripts):
    """They have both connections anew, on servers that others run, which were asked for roles."""
    reads, writes = scripts
    with start_private(parse_spec("postgres,standbys=1"), connections=20) as server:
        (standby,) = server.standbys
        targets = ("--target", server.url, "--further-target", standby.url)
        over = threading.Event()
        lost = threading.Thread(target=_terminate_once, args=(standby, over))
        lost.start()
        try:
            ended = dbdyno(
                *(f"{reads}@read", writes, *targets, "-c", "4", *SHORT),
                *("--max-failures", "100%"),
            )
        finally:
            over.set()
            lost.join()
        record = record_of(ended)
    assert [failure["class"] for failure in record["failures"]] == ["connection"]
    assert sum(failure["count"] for failure in record["failures"]) <= 4
    assert min(transactions_of(record)) > 10
    one, listed = record["standbys"]  # by the target, and by its primary
    assert one["name"] == standby.url
    assert one["clients"] == 4
    assert one["probed"] > 0
    assert listed["application_name"] == listed["name"] != standby.url


def _terminate_once(standby: PrivateServer, over: threading.Event) -> None:
    """Terminate the clients of the load once, when they are there and have worked for a moment."""
    ours = (
        "from pg_stat_activity where application_name = 'dbdyno' and backend_type = "
        "'client backend' and query like '%in_recovery()::int%' and pid <> pg_backend_pid()"
    )
    with standby.connect() as connection:

        def are_there() -> bool:
            (number,) = connection.execute(f"select count(*) {ours}").fetchone()
            return over.is_set() or number == 4

        wait_until(are_there, "the clients are on the standby")
        over.wait(1)
        connection.execute(f"select pg_terminate_backend(pid) {ours}")


def test_staleness_is_what_the_settings_of_the_standby_make_it(home, scripts):
    _, writes = scripts
    late, applied = (
        record_of(dbdyno(writes, "--server", f"postgres,standbys=1,{settings}", "-c", "1", *SHORT))[
            "standbys"
        ][0]
        for settings in (
            "recovery_min_apply_delay=300ms",
            "synchronous_standby_names=*,synchronous_commit=remote_apply",
        )
    )
    assert late["probed"] > 5
    assert late["stale_share"] > 0.9
    assert 200 < late["staleness_p50_ms"] <= late["staleness_p99_ms"] <= late["staleness_max_ms"]
    assert late["lag_bytes_max"] > 0
    assert late["clients"] == 0
    assert applied["stale_share"] == 0
    assert applied["staleness_max_ms"] == 0
    assert applied["unseen"] == 0


def test_standbys_are_on_the_page(home, scripts, tmp_path):
    _, writes = scripts
    page = tmp_path / "report.html"
    ended = dbdyno(
        *(writes, "--server", "postgres,standbys=1,recovery_min_apply_delay=300ms"),
        *("-c", "1", *SHORT, "--report", page),
    )
    record_of(ended)
    text = page.read_text()
    assert 'id="standbys"' in text
    assert 'id="standbys-chart"' in text


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ((), "needs a standby"),
        (("--server", "postgres"), "needs a standby"),
        (("--target", "postgresql://h/d"), "needs a standby"),
        (("--server", "postgres,standbys=1", "--network-delay", "1ms"), "exclude each other"),
        (("--server", "postgres,standbys=1", "--event", "1s:promote:1"), "exclude each other"),
    ],
)
def test_a_role_without_a_standby_is_refused(home, scripts, words, reason):
    reads, _ = scripts
    ended = dbdyno(f"{reads}@read", *words)
    assert ended.returncode == 1
    assert reason in json.loads(ended.stdout)["error"]["message"]


def test_what_writes_has_no_role_to_read(home, tmp_path):
    script = tmp_path / "writes.sql"
    script.write_text("insert into a values (1);\n")
    ended = dbdyno(f"{script}@read", "--server", "postgres,standbys=1")
    assert ended.returncode == 1
    assert "has the role read, and writes to a" in json.loads(ended.stdout)["error"]["message"]
    assert ended.stderr == ""  # no server was started for it


def test_further_targets_that_take_writes_are_no_standbys(home, scripts):
    reads, _ = scripts
    with start_private(parse_spec("postgres"), connections=20) as server:
        ended = dbdyno(f"{reads}@read", "--target", server.url, "--further-target", server.url)
    assert ended.returncode == 1
    assert "every further target takes writes" in json.loads(ended.stdout)["error"]["message"]


def test_a_read_is_stale_if_it_lacks_what_was_acknowledged_before():
    address = Address()
    reader = Reader(Standby(name="a", address=address, connect=pytest.fail))
    acknowledged_ns = [100, 200, 300, 400]
    reader.take(acknowledged_ns, 1, 1, 110)  # at once
    reader.take(acknowledged_ns, 3, 1, 310)  # lacks two
    assert (reader.stale, reader.ages_ns) == (2, [0])
    reader.take(acknowledged_ns, 3, 4, 350)  # sees both, and one that is not acknowledged yet
    assert (reader.stale, reader.ages_ns) == (2, [0, 150, 50])
    reader.take(acknowledged_ns, 4, 4, 410)
    assert (reader.stale, reader.ages_ns) == (2, [0, 150, 50, 0])
