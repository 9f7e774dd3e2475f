"""A private MariaDB: created, reached, described, and removed."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dbdyno.databases.mariadb.server.product import BRAND, PRODUCT
from dbdyno.databases.mysql.server.binaries import Brand
from dbdyno.databases.mysql.server.product import BRAND as MYSQL
from dbdyno.databases.mysql.server.settings import known_settings
from dbdyno.databases.mysql.telemetry.log import MysqlLog
from dbdyno.errors import DbdynoError
from dbdyno.servers import kept
from dbdyno.servers.base import Server
from dbdyno.servers.private import start_private
from dbdyno.servers.privileges import server_identity
from dbdyno.servers.processes import is_running, mark_of
from dbdyno.servers.settings import GIB, Machine, Setting
from dbdyno.servers.spec import ServerSpec
from tests.conftest import SMALL_INNODB
from tests.support.patience import wait_until
from tests.support.program import Program

OWNER = """
import sys
from dbdyno.servers.private import start_private
from dbdyno.servers.spec import ServerSpec
settings = {"innodb_buffer_pool_size": "64M", "innodb_log_file_size": "64M"}
server = start_private(ServerSpec("mariadb", settings=settings), connections=1)
print(server.process_id, server.data_directory.parent, flush=True)
sys.stdin.read()
"""


def spec(**settings: str) -> ServerSpec:
    return ServerSpec("mariadb", settings={**SMALL_INNODB, **settings})


def test_it_answers_and_leaves_nothing(home: Path) -> None:
    with start_private(spec(), connections=200) as server:
        assert server.process_id is not None
        process = mark_of(server.process_id)
        with server.connect() as connection:
            found = connection.execute("select @@max_connections, database(), @@skip_networking")
            assert found.fetchone() == (220, "dbdyno", 1)
        assert server.data_directory is not None
        assert server.data_directory.parent.stat().st_mode & 0o777 == 0o700
        assert server.endpoint().protocol == "mysql"
    assert not is_running(process)
    assert [path.name for path in (home / "private").iterdir()] == ["lock"]


def test_temporary_tables_of_other_servers_stay(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MariaDB's start removes every file of that name from its ``tmpdir``."""
    shared = tmp_path / "shared"
    shared.mkdir()
    server_identity().take_over(shared)
    monkeypatch.setenv("TMPDIR", str(shared))
    foreign = shared / "#sql-temptable-7f11-6-2.MAD"
    foreign.touch()
    with start_private(spec(), connections=1):
        assert foreign.exists()


def test_option_files_of_a_person_do_not_reach_it(
    mariadb_server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".my.cnf").write_text("[client]\npassword=of-another-server\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    with mariadb_server.connect() as connection:
        assert connection.execute("select 1").fetchone() == (1,)


def test_tcp_is_loopback_with_a_password(home: Path) -> None:
    with start_private(spec(), connections=8, tcp=True) as server:
        endpoint = server.endpoint()
        assert endpoint.address.tcp
        assert endpoint.address.tcp.host == "127.0.0.1"
        assert endpoint.password
        assert endpoint.password not in server.url
        assert endpoint.password not in repr(server)
        with server.connect() as connection:
            accounts = connection.execute(
                "select host from mysql.global_priv where user = 'root' and host in "
                "('127.0.0.1', '::1') and json_value(priv, '$.authentication_string') = ''"
            )
            assert accounts.fetchall() == ()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_it_dies_with_dbdyno(home: Path, number: signal.Signals) -> None:
    with Program(
        [sys.executable, "-c", OWNER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdout is not None
        pid, _, folder = owner.stdout.readline().strip().partition(" ")
        process = mark_of(int(pid))
        owner.send_signal(number)
    wait_until(lambda: not is_running(process) and not Path(folder).exists(), "its end")


def test_its_log_says_that_it_crashed(home: Path) -> None:
    with start_private(spec(), connections=8) as server:
        begin_ns = time.time_ns()
        assert server.process_id is not None
        process = mark_of(server.process_id)
        os.kill(server.process_id, signal.SIGSEGV)
        wait_until(lambda: not is_running(process), "its end")
        entries = MysqlLog().feed(server.cluster.log.read_text(errors="replace"))
    (crash,) = (one for one in entries if one.values == {"reason": "crash"})
    assert crash.topic == "stop"
    assert begin_ns - 10**9 <= crash.at_ns <= time.time_ns()


def test_it_can_be_kept(home: Path) -> None:
    server = kept.start_kept("bench", spec(), connections=8)
    assert server.process_id is not None
    process = mark_of(server.process_id)
    try:
        (line,) = kept.list_kept()
        assert (line.product, line.running) == ("MariaDB", True)
        assert kept.product_of_kept("bench") is PRODUCT
        with kept.find_kept("bench").connect() as connection:
            assert connection.execute("select 1").fetchone() == (1,)
        assert "ready for connections" in kept.log_of_kept("bench").read_text()
    finally:
        kept.stop_kept("bench")
    assert not is_running(process)


def test_its_threads_share_cores_with_those_of_our_session_as_equals(
    mariadb_server: Server,
) -> None:
    assert mariadb_server.process_id is not None
    assert os.getsid(mariadb_server.process_id) == os.getsid(0)


@pytest.mark.parametrize("name", ["datadir", "Bind-Address", "log_error"])
def test_where_a_private_server_is_cannot_be_set(home: Path, name: str) -> None:
    """The later of two values counts: it once ran on the data folder that was given."""
    with pytest.raises(DbdynoError, match=r"cannot be set: dbdyno chooses") as caught:
        start_private(spec(**{name: "/nowhere"}), connections=1)
    assert (caught.value.code, "--target" in caught.value.hint) == ("bad_setting", True)


def test_a_failed_start_gives_the_servers_own_reason(home: Path) -> None:
    with pytest.raises(DbdynoError, match=r"MariaDB .* did not start: .*/nowhere/log") as caught:
        start_private(spec(log_bin="/nowhere/log"), connections=8)
    assert caught.value.code == "server_failed"
    assert [path.name for path in (home / "private").iterdir()] == ["lock"]


@pytest.mark.parametrize(
    ("name", "value", "code", "expected"),
    [
        ("innodb_bufer_pool_size", "1G", "unknown_setting", "innodb_buffer_pool_size"),
        ("innodb_buffer_pool_size", "banana", "bad_setting", "banana"),
        ("max_connections", "0", "bad_setting", "adjusted to 10"),
        ("character_set_server", "utf9", "bad_setting", "utf9"),
    ],
)
def test_settings_are_checked_by_the_server_itself(
    home: Path, name: str, value: str, code: str, expected: str
) -> None:
    with pytest.raises(DbdynoError) as caught:
        start_private(spec(**{name: value}), connections=8)
    assert caught.value.code == code
    assert expected in str(caught.value)
    assert list((home / "private").iterdir()) == []


def test_settings_follow_the_machine() -> None:
    machine = Machine(memory_bytes=32 * GIB, disk_free_bytes=500 * GIB)
    binaries = BRAND.find(ServerSpec("mariadb"))
    chosen = {s.name: s.value for s in PRODUCT.settings(machine, 500, binaries)}
    assert chosen["innodb_buffer_pool_size"] == "8192M"
    assert chosen["innodb_log_file_size"] == "2048M"
    assert chosen["max_connections"] == "520"
    assert not {"innodb_flush_log_at_trx_commit", "performance_schema"} & chosen.keys()


def test_every_default_setting_is_known_to_the_server() -> None:
    machine = Machine(memory_bytes=GIB, disk_free_bytes=GIB)
    binaries = BRAND.find(ServerSpec("mariadb"))
    settings = PRODUCT.settings(machine, 8, binaries)
    PRODUCT.check(binaries, settings)
    assert {setting.name for setting in settings} <= set(known_settings(binaries.server))


def test_values_cannot_break_out_of_the_configuration(home: Path) -> None:
    value = 'it\'s "so"\nskip_grant_tables=1 \\ # no comment'
    with start_private(spec(init_connect=value), connections=8) as server, server.connect() as one:
        found = one.execute("select @@global.init_connect, current_user()").fetchone()
    assert found == (value, "root@localhost")


def test_absent_programs_name_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DbdynoError) as caught:
        MYSQL.find(ServerSpec("mysql"))
    assert "apt-get install mysql-server" in caught.value.hint
    with pytest.raises(DbdynoError, match="MariaDB 5 is not installed here"):
        BRAND.find(ServerSpec("mariadb", major=5))
    with pytest.raises(DbdynoError, match="does not contain MariaDB's programs"):
        BRAND.find(ServerSpec("mariadb", path=tmp_path))


def test_a_mysqld_of_the_other_kind_is_not_taken(tmp_path: Path) -> None:
    server = BRAND.find(ServerSpec("mariadb")).server
    (tmp_path / "mysqld").symlink_to(server)
    with pytest.raises(DbdynoError, match="does not contain MySQL's programs"):
        MYSQL.find(ServerSpec("mysql", path=tmp_path))


def test_a_program_that_does_not_run_is_reported(tmp_path: Path) -> None:
    brand = Brand("MariaDB", is_mariadb=True, servers=("it",), installers=("it",), package="p")
    (tmp_path / "it").write_text("#!/bin/sh\necho no such library >&2; exit 127\n")
    (tmp_path / "it").chmod(0o755)
    assert os.access(tmp_path / "it", os.X_OK)
    with pytest.raises(DbdynoError, match="does not run: no such library"):
        brand.find(ServerSpec("mariadb", path=tmp_path))


@pytest.mark.parametrize("promise", ["full", "relaxed", "none"])
def test_the_promise_reaches_the_server(home: Path, promise: str) -> None:
    wanted = spec().with_durability(promise)  # type: ignore[arg-type]
    with start_private(wanted, connections=8) as server, server.connect() as connection:
        query = "select @@innodb_flush_log_at_trx_commit, @@innodb_doublewrite"
        flush = {"full": (1, 1), "relaxed": (2, 1), "none": (0, 0)}
        assert connection.execute(query).fetchone() == flush[promise]
        assert Setting(
            "sync_binlog", "1" if promise == "full" else "0", f"durability {promise}"
        ) in (server.settings)
