import psycopg
import pytest
from psycopg import Connection

from dbdyno.databases.adapter import ServerSetting
from dbdyno.databases.adapters import all_adapters
from dbdyno.databases.postgresql.describe import CAPABILITIES
from dbdyno.databases.postgresql.over_postgresql import ADAPTER
from dbdyno.databases.schema import Column, ForeignKey, FoundColumn, Partitioning, Table
from dbdyno.errors import DbdynoError
from dbdyno.servers.base import Server


def test_the_target_is_found() -> None:
    assert all_adapters()["postgresql"] is ADAPTER


def test_a_server_is_described(any_server: Server) -> None:
    with any_server.connect() as connection:
        found = ADAPTER.describe(connection)
        version = connection.info.server_version
    assert found.version_number == version
    assert found.encoding == "UTF8"
    assert not found.is_in_recovery
    assert found.cache_bytes == 64 * 2**20
    assert found.database_bytes > 2**20
    assert found.durability["fsync"] == "on"
    assert found.durability["wal_writer_delay"] == "200"
    assert found.durability.keys() == {
        "fsync",
        "synchronous_commit",
        "full_page_writes",
        "wal_level",
        "wal_writer_delay",
        "data_checksums",
    }
    buffers = ServerSetting("shared_buffers", "8192", "8kB", "configuration file")
    assert buffers in found.settings


def test_settings_at_their_default_are_left_out(connection: Connection) -> None:
    connection.execute("set application_name = 'other'")
    names = {setting.name for setting in ADAPTER.describe(connection).settings}
    assert "fsync" not in names
    assert "application_name" not in names


@pytest.mark.parametrize("view", ["pg_stat_wal", "pg_stat_io", "pg_stat_checkpointer"])
def test_capabilities_are_true(any_server: Server, view: str) -> None:
    with any_server.connect() as connection:
        row = connection.execute("select to_regclass(%s) is not null", [view]).fetchone()
        assert row == (connection.info.server_version >= CAPABILITIES[view],)


PARENT = Table(
    name="parent",
    columns=(Column("id", "serial", not_null=True), Column("note", "char(7)")),
    rows=10,
    primary_key=("id",),
    fillfactor=70,
    unlogged=True,
)
CHILD = Table(
    name="child",
    columns=(
        Column("id", "bigint", not_null=True),
        Column("parent", "int"),
        Column("at", "timestamptz", default="now()"),
        Column("until", "timestamp"),
    ),
    rows=100,
    primary_key=("id",),
    partitioning=Partitioning("hash", "id", 3),
)


def test_created_tables_are_found(connection: Connection) -> None:
    dialect = ADAPTER.dialect
    for table in (PARENT, CHILD):
        for statement in (*dialect.create(table), *dialect.add_primary_key(table)):
            connection.execute(statement)
    connection.execute(dialect.comment("parent", "it's ours"))
    found = ADAPTER.find_tables(connection, ["parent", "child", "stranger"])
    assert found.keys() == {"parent", "child"}
    parent, child = found["parent"], found["child"]
    assert parent.columns == (FoundColumn("id", "int"), FoundColumn("note", "char(7)"))
    assert (parent.primary_key, parent.fillfactor, parent.unlogged) == (("id",), 70, True)
    assert parent.comment == "it's ours"
    assert child.partitioning == Partitioning("hash", "id", 3)
    types = ["bigint", "int", "timestamptz", "timestamp"]
    assert [column.sql_type for column in child.columns] == types


def test_foreign_keys_are_made_and_found(connection: Connection) -> None:
    dialect, key = ADAPTER.dialect, ForeignKey(("parent",), "parent", ("id",))
    parent = Table(name="parent", columns=PARENT.columns, rows=0, primary_key=("id",))
    for table in (parent, CHILD):
        for statement in (*dialect.create(table), *dialect.add_primary_key(table)):
            connection.execute(statement)
    connection.execute(dialect.add_foreign_key(CHILD, key))
    assert ADAPTER.find_tables(connection, ["child"])["child"].foreign_keys == {key}


def test_a_view_is_no_table(connection: Connection) -> None:
    connection.execute("create view seen as select 1 as id")
    assert not ADAPTER.find_tables(connection, ["seen"])["seen"].is_table


def test_settling_clears_dead_rows(connection: Connection) -> None:
    connection.execute("create table t as select generate_series(1, 1000) as id")
    connection.execute("delete from t")
    ADAPTER.settle(connection, ["t"])
    assert connection.execute("select pg_relation_size('t')").fetchone() == (0,)


def test_tidying_uses_the_whole_cache_and_leaves_the_session_as_it_was(
    any_database: Server,
) -> None:
    """A pooler lends the session to others."""
    setting = "select name, setting from pg_settings where name like 'vacuum_buffer%'"
    with any_database.connect() as connection:
        connection.execute("create table child (id int) with (autovacuum_enabled = off)")
        knows_ring = connection.info.server_version >= 160000
        if knows_ring:
            connection.execute("set vacuum_buffer_usage_limit = '1MB'")
        before = connection.execute(setting).fetchall()
        statements = ADAPTER.dialect.tidy([CHILD], connection)
        for statement in statements:
            connection.execute(statement)  # type: ignore[call-overload]
        assert connection.execute(setting).fetchall() == before
        seen = connection.execute(
            "select vacuum_count from pg_stat_user_tables where relname = 'child'"
        )
        assert ("buffer_usage_limit 0" in statements[0]) == knows_ring
        assert seen.fetchone() == (1,)


@pytest.mark.parametrize(
    ("statement", "code"),
    [
        ("select * from nowhere", "missing_table"),
        ("set role postgres; create table pg_catalog.mine ()", "no_rights"),
        ("begin; set transaction read only; create table t ()", "read_only"),
        ("select 1/0", "server_error"),
        ("select pg_terminate_backend(pg_backend_pid())", "server_lost"),
    ],
)
def test_errors_are_understood(database: Server, statement: str, code: str) -> None:
    connection = database.connect()
    with pytest.raises(DbdynoError) as caught, ADAPTER.understood("try it"):
        connection.execute(statement)  # type: ignore[call-overload]
    connection.close()
    assert caught.value.code == code
    assert caught.value.message.startswith("cannot try it: ")
    assert isinstance(caught.value.__cause__, psycopg.Error)
