"""Features that only MariaDB and MySQL have."""

import math
import re
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pymysql
import pytest

from dbdyno.databases.adapter import ServerSetting
from dbdyno.databases.connecting import open_connection
from dbdyno.databases.connection import Connection
from dbdyno.databases.durability import lost_max_ms, promise_of, why_no_promise
from dbdyno.databases.mysql import maintenance
from dbdyno.databases.mysql.column_types import word_of
from dbdyno.databases.mysql.database import DATABASE
from dbdyno.databases.mysql.describe import READ_ONLY, RIGHTS, refuses_writes, version_number
from dbdyno.databases.mysql.over_mysql import ADAPTER
from dbdyno.databases.mysql.server.warming import warm
from dbdyno.databases.mysql.telemetry.facts.plans import compared_columns
from dbdyno.databases.mysql.telemetry.facts.tables import table_facts
from dbdyno.databases.mysql.telemetry.session import begin
from dbdyno.model.database import Promise
from dbdyno.servers.base import Server


def test_a_server_is_described(mariadb_server: Server) -> None:
    with mariadb_server.connect() as connection:
        found = ADAPTER.describe(connection)
    assert (found.product, found.encoding) == ("mariadb", "utf8mb4")
    assert found.durability["innodb_flush_log_at_trx_commit"] == "1"
    assert found.durability["innodb_flush_log_at_timeout"] == "1"
    assert "sync_binlog" not in found.durability  # there is no such log
    size = ServerSetting("innodb_buffer_pool_size", str(64 * 2**20), "", "config")
    assert size in found.settings
    assert "innodb_flush_log_at_trx_commit" not in {setting.name for setting in found.settings}


class Recorded:
    """A connection whose statements are recorded."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.executed: list[str] = []

    def execute(self, query: str, parameters: Sequence[object] = ()) -> Any:
        self.executed.append(query)
        return self._connection.execute(query, parameters)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


@pytest.mark.parametrize(
    "read",
    [
        ADAPTER.describe,
        lambda connection: warm(connection, ["none"]),
        lambda connection: (begin(connection), table_facts(connection, ["none"])),
    ],
)
def test_sizes_are_those_of_now_and_not_of_the_day_before(
    mariadb_server: Server, read: Callable[[Any], object]
) -> None:
    with mariadb_server.connect() as control, mariadb_server.connect() as connection:
        control.execute("create table none (id int)")
        recorded = Recorded(connection)
        read(recorded)
        control.execute("drop table none")
    sizes = [query for query in recorded.executed if "index_length" in query]
    assert sizes
    before = recorded.executed[: recorded.executed.index(sizes[0])]
    assert maintenance.FRESH_STATISTICS in before


def test_mariadb_ignores_what_it_has_no_variable_for(mariadb_server: Server) -> None:
    """As it ignores all comments for the versions of MySQL that it has not had itself."""
    for_mysql = maintenance.FRESH_STATISTICS
    with mariadb_server.connect() as connection:
        connection.execute(for_mysql)
        with pytest.raises(pymysql.Error, match="Unknown system variable"):
            connection.execute(for_mysql.replace("80003", "100000"))


@pytest.mark.parametrize(
    ("version", "number"),
    [("10.11.19-MariaDB-0+deb12u1", 101119), ("8.0.33", 80033), ("8.4.0-log", 80400)],
)
def test_versions_are_compared_by_number(version: str, number: int) -> None:
    assert version_number(version) == number


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("OFF", None),
        ("ON", "read_only is on: it may be a replica"),
        ("NO_LOCK", "read_only is on: it may be a replica"),
        ("NO_LOCK_NO_ADMIN", "read_only is NO_LOCK_NO_ADMIN: it may be a replica"),
    ],
)
def test_read_only_is_a_word_since_mariadb_12(word: str, reason: str | None) -> None:
    """As that version answers a user without special rights."""
    version = "12.0.2-MariaDB"
    answers = {
        "select version()": [(version,)],
        READ_ONLY.format(variable="tx_read_only"): [(version, word, 0)],
        RIGHTS: [("GRANT USAGE ON *.* TO `reader`@`%`",)],
    }

    def execute(query: str) -> SimpleNamespace:
        rows = answers[query]
        return SimpleNamespace(fetchone=lambda: rows[0], fetchall=lambda: rows)

    assert refuses_writes(SimpleNamespace(execute=execute)) == (reason or "")


def test_only_rights_of_this_user_and_its_roles_count(mariadb_server: Server) -> None:
    """This one may read those of all others, such as root; a role's may be those of another."""
    read_only = "read_only is on: it may be a replica"
    with mariadb_server.connect() as control:
        control.execute("create user 'o''d@d' identified by 'x'")
        control.execute("create role inner_role")
        control.execute("create role outer_role")
        try:
            control.execute("grant all on *.* to 'o''d@d'")
            control.execute("revoke super, read_only admin on *.* from 'o''d@d'")
            control.execute("grant read_only admin on *.* to inner_role")
            control.execute("grant inner_role to outer_role")
            control.execute("grant outer_role to 'o''d@d'")
            control.execute("set global read_only = on")
            assert refuses_writes(control) == ""
            own = mariadb_server.conninfo.replace("root@", "o%27d%40d:x@")
            with open_connection(own) as connection:
                assert refuses_writes(connection) == read_only
                connection.execute("set role outer_role")
                assert refuses_writes(connection) == ""
        finally:
            control.execute("set global read_only = off")
            control.execute("drop user 'o''d@d'")
            control.execute("drop role inner_role, outer_role")


@pytest.mark.parametrize(
    ("grant", "reason"),
    [
        ("GRANT ALL PRIVILEGES ON *.* TO `root`@`%` WITH GRANT OPTION", ""),
        ("GRANT SELECT, SUPER ON *.* TO `a`@`%`", ""),
        ("GRANT AUDIT_ADMIN,CONNECTION_ADMIN,ROLE_ADMIN ON *.* TO `a`@`%`", ""),
        ("GRANT AUDIT_ADMIN,ROLE_ADMIN ON *.* TO `a`@`%`", "read_only is on: it may be a replica"),
        ("GRANT ALL PRIVILEGES ON `d`.* TO `a`@`%`", "read_only is on: it may be a replica"),
        ("GRANT `SUPER`@`%` TO `a`@`%`", "read_only is on: it may be a replica"),
    ],
)
def test_the_grants_of_mysql_are_read(grant: str, reason: str) -> None:
    """As MySQL writes them: dynamic rights in a row of their own, without spaces."""
    answers = {
        "select version()": [("8.4.0",)],
        READ_ONLY.format(variable="transaction_read_only"): [("8.4.0", 1, 0)],
        RIGHTS: [("GRANT USAGE ON *.* TO `a`@`%`",), (grant,)],
        "select @@global.super_read_only": [(0,)],
    }

    def execute(query: str) -> SimpleNamespace:
        rows = answers[query]
        return SimpleNamespace(fetchone=lambda: rows[0], fetchall=lambda: rows)

    assert refuses_writes(SimpleNamespace(execute=execute)) == reason


@pytest.mark.parametrize(
    ("written", "word"),
    [
        ("int(11)", "int"),
        ("INT", "int"),
        ("bigint(20)", "bigint"),
        ("char(120)", "char(120)"),
        ("timestamp(6)", "timestamptz"),
        ("int(10) unsigned", "int unsigned"),
    ],
)
def test_widths_of_integers_mean_nothing(written: str, word: str) -> None:
    assert word_of(written) == word


@pytest.mark.parametrize(
    ("settings", "promise"),
    [
        ({"innodb_flush_log_at_trx_commit": "1", "innodb_doublewrite": "ON"}, "full"),
        ({"innodb_flush_log_at_trx_commit": "2", "innodb_doublewrite": "on"}, "relaxed"),
        ({"innodb_flush_log_at_trx_commit": "1", "sync_binlog": "0"}, "relaxed"),
        ({"innodb_flush_log_at_trx_commit": "1", "sync_binlog": "100"}, "relaxed"),
        ({"innodb_flush_log_at_trx_commit": "2", "sync_binlog": "1"}, "relaxed"),
        ({"innodb_flush_log_at_trx_commit": "0", "innodb_doublewrite": "ON"}, "relaxed"),
        ({"innodb_flush_log_at_trx_commit": "3", "innodb_doublewrite": "ON"}, "full"),
        ({"innodb_doublewrite": "DETECT_AND_RECOVER", "sync_binlog": "1"}, "full"),
        ({"innodb_doublewrite": "DETECT_ONLY", "sync_binlog": "1"}, "none"),
        ({"innodb_doublewrite": "fast", "sync_binlog": "1"}, "none"),
        ({"innodb_doublewrite": "new", "sync_binlog": "1"}, None),
        ({"innodb_flush_log_at_trx_commit": "1", "innodb_flush_method": "O_DIRECT"}, "full"),
        ({"innodb_flush_log_at_trx_commit": "1", "innodb_flush_method": "nosync"}, "none"),
        ({"innodb_flush_log_at_trx_commit": "2", "innodb_flush_method": "littlesync"}, "none"),
        ({"log_bin": "ON"}, None),
        ({}, None),
    ],
)
def test_a_promise_is_read_from_the_settings(settings: dict[str, str], promise: str) -> None:
    assert promise_of(DATABASE, settings) == promise


def test_each_level_has_the_settings_by_which_it_is_set() -> None:
    for promise, settings in DATABASE.durability.items():
        assert promise_of(DATABASE, settings) == promise


def test_settings_without_a_promise_have_their_reason() -> None:
    known = {"innodb_flush_log_at_trx_commit": "1", "innodb_doublewrite": "ON", "log_bin": "ON"}
    assert why_no_promise(DATABASE, {**known, "innodb_doublewrite": "NEW"}) == (
        "it is not known what innodb_doublewrite=NEW promises"
    )
    assert why_no_promise(DATABASE, known) == ""
    assert why_no_promise(DATABASE, {}) == ""  # not told


@pytest.mark.parametrize(
    ("promise", "timeout", "lost_ms"),
    [
        ("full", "3", 0),
        ("relaxed", "1", 2000),
        ("relaxed", "2700", 2_701_000),
        ("relaxed", None, 1000),
        ("none", "1", math.inf),
        (None, "1", math.inf),
    ],
)
def test_what_may_be_lost_is_as_long_as_the_server_waits_with_a_flush(
    promise: Promise | None, timeout: str | None, lost_ms: float
) -> None:
    settings = {} if timeout is None else {"innodb_flush_log_at_timeout": timeout}
    assert lost_max_ms(DATABASE, promise, settings) == lost_ms


def test_filling_may_take_as_long_as_it_needs(mariadb_server: Server) -> None:
    with mariadb_server.connect() as connection:
        connection.execute("set session max_statement_time = 60")
        for statement in ADAPTER.dialect.before_filling():
            connection.execute(statement)
        assert connection.execute("select @@max_statement_time").fetchone() == (0,)


def test_a_checkpoint_leaves_few_dirty_pages(mariadb_server: Server) -> None:
    with mariadb_server.connect() as connection:
        connection.execute("create table filler (id int primary key, t char(200))")
        connection.execute("insert into filler select seq, repeat('x', 200) from seq_1_to_30000")
        assert ADAPTER.checkpoint(connection) == ""
        query = "show global status like 'Innodb_buffer_pool_pages_dirty'"
        assert int(connection.execute(query).fetchone()[1]) <= 100
        connection.execute("drop table filler")


def test_a_checkpoint_that_takes_too_long_reports_the_unwritten_rest(
    mariadb_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maintenance, "FLUSH_PATIENCE_S", 0)
    monkeypatch.setattr(maintenance, "DIRTY_PAGES_FEW", -1)
    with mariadb_server.connect() as connection:
        unwritten = ADAPTER.checkpoint(connection)
    assert re.fullmatch(r"after 0 s the server still had \d+ dirty pages: .*", unwritten)


def test_a_checkpoint_leaves_the_servers_settings_as_they_were(mariadb_server: Server) -> None:
    names = ("innodb_io_capacity", "innodb_io_capacity_max", *maintenance.RESTORED[:2])
    query = f"select {', '.join(f'@@global.{name}' for name in names)}"
    with mariadb_server.connect() as connection:
        was = connection.execute(query).fetchone()
        try:
            connection.execute("set global innodb_io_capacity_max = 40000")
            connection.execute("set global innodb_io_capacity = 30000")
            before = connection.execute(query).fetchone()
            ADAPTER.checkpoint(connection)
            assert connection.execute(query).fetchone() == before
        finally:
            for name, value in zip(names[1::-1], was[1::-1], strict=True):
                connection.execute(f"set global {name} = {value}")


def test_a_checkpoint_undoes_what_one_that_was_killed_has_left(mariadb_server: Server) -> None:
    query = f"select {', '.join(f'@@global.{name}' for name in maintenance.RESTORED)}"
    with mariadb_server.connect() as connection:
        before = connection.execute(query).fetchone()
        for name, value in maintenance.FLUSHING.items():
            connection.execute(f"set global {name} = {value}")
        assert "an earlier command ended before" in ADAPTER.checkpoint(connection)
        assert connection.execute(query).fetchone() == before


def test_one_checkpoint_waits_for_another(
    mariadb_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maintenance, "FLUSH_PATIENCE_S", 0)
    with mariadb_server.connect() as other, mariadb_server.connect() as connection:
        other.execute(f"select get_lock('{maintenance.LOCK}', 0)")
        assert ADAPTER.checkpoint(connection).startswith("another command is writing")
        other.execute(f"select release_lock('{maintenance.LOCK}')")
        assert not ADAPTER.checkpoint(connection).startswith("another command")


def test_a_long_literal_does_not_delay_the_search_for_columns() -> None:
    text = f"select '{'x' * 1_000_000}' from t where id = :aid and `k` between :low and :high"
    assert compared_columns(text) == {":aid": "id", ":low": "k", ":high": "k"}
