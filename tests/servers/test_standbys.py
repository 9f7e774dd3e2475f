"""Standbys of private servers: what they have, what lets commits wait for them, why they fail."""

from pathlib import Path

import pytest

from dbdyno.errors import DbdynoError
from dbdyno.servers import kept, private
from dbdyno.servers.private import PrivateServer, start_private
from dbdyno.servers.product import product_of
from dbdyno.servers.settings import Setting
from dbdyno.servers.spec import parse_spec
from tests.support.patience import wait_until

KINDS = ["postgres", "mariadb"]
SYNCHRONOUS = {
    "postgres": "synchronous_standby_names=*",
    "mariadb": "rpl_semi_sync_master_enabled=ON",
}


def no_word(text: str) -> None:
    raise AssertionError(text)


def started(text: str) -> PrivateServer:
    return start_private(parse_spec(text), connections=8)


def rows_of(server: PrivateServer, table: str) -> list[int]:
    with server.connect() as connection:
        return [row[0] for row in connection.execute(f"select i from {table} order by i")]


@pytest.mark.parametrize("kind", KINDS)
def test_each_standby_has_what_its_primary_has_committed_and_one_takes_over(
    home: Path, kind: str
) -> None:
    with started(f"{kind},standbys=2") as server:
        with server.connect() as connection:
            connection.execute("create table a (i integer primary key)")
            connection.execute("insert into a values (1), (2)")
        server.wait_for_standbys(no_word)
        assert [rows_of(standby, "a") for standby in server.standbys] == [[1, 2], [1, 2]]
        again = server.restarted()
        with again.connect() as connection:
            connection.execute("insert into a values (3)")
        again.wait_for_standbys(lambda _text: None)
        again.kill()
        second = again.standbys[1]
        second.promote()
        with second.connect() as connection:
            connection.execute("insert into a values (4)")
        assert rows_of(second, "a") == [1, 2, 3, 4]
        folders = [one.data_directory for one in (again, *again.standbys)]
    assert not any(folder.exists() for folder in folders)


def test_a_semi_synchronous_commit_waits_for_the_standby(home: Path) -> None:
    """Its own limit ends the wait: the commit is then asynchronous, and returns."""
    with started(f"mariadb,standbys=1,{SYNCHRONOUS['mariadb']}") as server:
        (standby,) = server.standbys
        status = "show status like 'Rpl_semi_sync_master_%'"
        with server.connect() as primary, standby.connect() as following:
            primary.execute("create table a (i integer primary key)")
            server.wait_for_standbys(no_word)
            counters = dict(primary.execute(status).fetchall())
            assert (
                counters["Rpl_semi_sync_master_yes_tx"],
                counters["Rpl_semi_sync_master_no_tx"],
            ) == ("1", "0")
            assert server.is_followed_synchronously()
            primary.execute("set global rpl_semi_sync_master_timeout = 500")
            following.execute("stop slave io_thread")
            primary.execute("insert into a values (1)")
            counters = dict(primary.execute(status).fetchall())
            assert counters["Rpl_semi_sync_master_no_times"] == "1"
            assert not server.is_followed_synchronously()


@pytest.mark.parametrize(
    ("kind", "breaks", "why"),
    [
        ("postgres", "alter system set primary_conninfo = 'host=/nowhere'", "receives no WAL"),
        ("mariadb", "insert into a values (1)", "Duplicate entry '1'"),
    ],
)
def test_a_standby_that_does_not_follow_says_why(
    home: Path, monkeypatch: pytest.MonkeyPatch, kind: str, breaks: str, why: str
) -> None:
    with started(f"{kind},standbys=1") as server:
        (standby,) = server.standbys
        with server.connect() as primary, standby.connect() as following:
            primary.execute("create table a (i integer primary key)")
            server.wait_for_standbys(no_word)
            monkeypatch.setattr(private, "FOLLOW_PATIENCE_S", 1.0)
            following.execute(breaks)
            if kind == "postgres":
                following.execute("select pg_reload_conf()")

            def commit_until_it_is_noticed() -> None:
                for number in range(1, 1000):
                    primary.execute(f"insert into a values ({number})")
                    server.wait_for_standbys(lambda _text: None)

            with pytest.raises(DbdynoError, match=f"standby 1 does not follow.*{why}") as refused:
                commit_until_it_is_noticed()
        assert "its log says: " in refused.value.hint
        if kind == "mariadb":
            with pytest.raises(DbdynoError, match=f"not applied everything.*{why}"):
                standby.promote()


def test_a_primary_without_a_binary_log_is_named(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its standby lacks nothing of what it could know."""
    monkeypatch.setattr(private, "FOLLOW_PATIENCE_S", 1.0)
    with (
        started("mariadb,standbys=1,skip_log_bin=ON") as server,
        pytest.raises(DbdynoError, match="Binary log is not open"),
    ):
        server.wait_for_standbys(lambda _text: None)


@pytest.mark.parametrize("kind", KINDS)
def test_standbys_of_a_kept_server_are_refused(home: Path, kind: str) -> None:
    with pytest.raises(DbdynoError, match="a kept server has no standbys") as refused:
        kept.start_kept("bench", parse_spec(f"{kind},standbys=1"), connections=8)
    assert f"--server {kind},standbys=1" in refused.value.hint
    assert kept.list_kept() == []


@pytest.mark.parametrize(
    ("kind", "settings", "most"),
    [
        ("postgres", {}, 0),
        ("postgres", {"synchronous_standby_names": "*"}, 1),
        ("postgres", {"synchronous_standby_names": "FIRST 2 (*)"}, 2),
        ("postgres", {"synchronous_standby_names": "any 3(a, b, c)"}, 3),
        ("postgres", {"synchronous_standby_names": "*", "synchronous_commit": "remote_write"}, 1),
        ("postgres", {"synchronous_standby_names": "*", "synchronous_commit": "remote_apply"}, 1),
        ("postgres", {"synchronous_standby_names": "*", "synchronous_commit": "local"}, 0),
        ("postgres", {"synchronous_standby_names": "*", "synchronous_commit": "off"}, 0),
        ("mariadb", {}, 0),
        ("mariadb", {"rpl_semi_sync_master_enabled": "ON"}, 1),
        ("mariadb", {"rpl_semi_sync_master_enabled": "OFF"}, 0),
    ],
)
def test_for_how_many_standbys_commits_wait(kind: str, settings: dict[str, str], most: int) -> None:
    replication = product_of(kind).replication
    assert replication
    waited_for = [n for n in range(1, 5) if replication.is_synchronous(settings, n)]
    assert waited_for == list(range(1, most + 1))


@pytest.mark.parametrize(
    ("text", "standbys"),
    [
        ("postgres,synchronous_standby_names=*", "are 0 standbys"),
        ("postgres,standbys=1,synchronous_standby_names=2 (*)", "is 1 standby"),
        ("postgres,standbys=1,synchronous_standby_names=standby1", "is 1 standby"),
    ],
)
def test_commits_that_would_wait_for_ever_are_refused(home: Path, text: str, standbys: str) -> None:
    with pytest.raises(DbdynoError, match=f"wait for ever: there {standbys}") as refused:
        started(text)
    assert "synchronous_standby_names='*'" in refused.value.hint


def test_commits_that_need_not_wait_any_more_do_not(home: Path) -> None:
    with started(f"postgres,standbys=1,{SYNCHRONOUS['postgres']}") as server:
        assert server.is_followed_synchronously()
        with server.connect() as primary:
            primary.execute("alter system set synchronous_standby_names to ''")
            primary.execute("select pg_reload_conf()")
        wait_until(lambda: not server.is_followed_synchronously(), "the setting is read")


def test_a_host_is_divided_among_a_server_and_its_standbys(home: Path) -> None:
    def caches(text: str) -> list[str]:
        with started(text) as server:
            return [dict(map(named, one.settings))["shared_buffers"] for one in all_of(server)]

    def all_of(server: PrivateServer) -> list[PrivateServer]:
        return [server, *server.standbys]

    def named(setting: Setting) -> tuple[str, str]:
        return setting.name, setting.value

    (alone,) = caches("postgres")
    each = caches("postgres,standbys=1")
    assert len(set(each)) == 1
    assert int(each[0].removesuffix("MB")) == int(alone.removesuffix("MB")) // 2


@pytest.mark.parametrize("kind", KINDS)
def test_a_server_that_has_ended_is_not_waited_for(home: Path, kind: str) -> None:
    """Whatever ended it: killing it again is nothing to do, and shutting it down is refused."""
    with started(kind) as server:
        server.kill()
        server.kill()
        with pytest.raises(DbdynoError, match="is not running"):
            server.shut_down()
        again = server.started_again()
        server.kill()  # the one that was started again, though not by this object
        with pytest.raises(Exception, match=r"(?i)connect|refused|no such file"):
            again.connect()
        assert again.started_again().restarted().process_id is not None
