"""What every target guarantees: the same calls for each database, on tables made from data."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from dbdyno.databases.adapter import Adapter
from dbdyno.databases.adapters import all_adapters, native_adapter
from dbdyno.databases.durability import promise_of
from dbdyno.databases.known import all_databases, native_database
from dbdyno.databases.schema import Column, ForeignKey, Index, Partitioning, Table
from dbdyno.errors import DbdynoError
from dbdyno.model.generators import Number
from dbdyno.servers.base import Server
from tests.support.odd_answers import ODD, Answers
from tests.support.patience import eventually

PARENT = Table(
    name="parent",
    columns=(
        Column("parent", "serial", not_null=True),
        Column("note", "char(7)"),
        Column("k", "int", not_null=True, default="0"),
    ),
    rows=10,
    primary_key=("parent",),
    indexes=(Index("k_1", ("k",)),),
)
KEY = ForeignKey(("parent",), "parent", ("parent",))
CHILD = Table(
    name="child",
    columns=(
        Column("id", "bigint", not_null=True),
        Column("parent", "int", Number(7)),
        Column("at", "timestamptz", default="now()"),
        Column("until", "timestamp"),
        Column("info", "text"),
    ),
    rows=100,
    primary_key=("id",),
)


@pytest.fixture(params=["postgres_server", "mariadb_server"])
def server(request: pytest.FixtureRequest, new_database: Callable[[Server], Server]) -> Server:
    return new_database(request.getfixturevalue(request.param))


@pytest.fixture
def target(server: Server) -> Adapter:
    return native_adapter(server.endpoint().protocol)


@pytest.fixture
def connection(server: Server) -> Iterator[Any]:
    with server.connect() as opened:
        yield opened


def make(target: Adapter, connection: Any, *tables: Table) -> None:
    for table in tables:
        keys = target.dialect.add_primary_key(table)
        indexes = [target.dialect.add_index(table, index) for index in table.indexes]
        filled = target.dialect.filled(table)
        for statement in (*target.dialect.create(table), *filled, *keys, *indexes):
            connection.execute(statement)


def test_each_has_settings_for_each_level() -> None:
    for name in ("postgresql", "mariadb", "mysql"):
        assert all_databases()[name].durability.keys() == {"full", "relaxed", "none"}
    assert native_adapter("mysql") is all_adapters()["mysql"]


def test_created_tables_are_found(target: Adapter, connection: Any) -> None:
    make(target, connection, PARENT, CHILD)
    connection.execute(target.dialect.add_foreign_key(CHILD, KEY))
    connection.execute(target.dialect.comment("parent", "it's {ours} \\ and %s"))
    found = target.find_tables(connection, ["parent", "child", "stranger"])
    assert found.keys() == {"parent", "child"}
    parent, child = found["parent"], found["child"]
    columns = [(column.name, column.sql_type) for column in parent.columns]
    assert columns == [("parent", "int"), ("note", "char(7)"), ("k", "int")]
    assert (parent.primary_key, parent.is_table) == (("parent",), True)
    assert parent.comment == "it's {ours} \\ and %s"
    assert child.foreign_keys == {KEY}
    types = ["bigint", "int", "timestamptz", "timestamp", "text"]
    assert [column.sql_type for column in child.columns] == types


def test_defaults_for_filling_go_and_others_stay(target: Adapter, connection: Any) -> None:
    make(target, connection, PARENT, CHILD)
    connection.execute("insert into child (id) values (1)")
    query = "select parent, at > '2020-01-01', until from child"
    assert connection.execute(query).fetchone() == (None, True, None)


def test_numbering_goes_on_after_the_rows(target: Adapter, connection: Any) -> None:
    make(target, connection, PARENT)
    for number in range(1, PARENT.rows + 1):
        connection.execute(f"insert into parent (parent) values ({number})")
    for statement in target.dialect.continue_numbering(PARENT):
        connection.execute(statement)
    connection.execute("insert into parent (note) values ('more')")
    assert connection.execute("select max(parent) from parent").fetchone() == (11,)


@pytest.mark.parametrize("method", ["range", "hash"])
def test_parts_are_made_and_found(target: Adapter, connection: Any, method: Any) -> None:
    partitioning = Partitioning(method, "id", 3)
    table = Table(
        name="cut", columns=CHILD.columns, rows=100, primary_key=("id",), partitioning=partitioning
    )
    make(target, connection, table)
    for number in (-5, 1, 34, 67, 100, 5000):
        connection.execute(f"insert into cut (id) values ({number})")
    assert target.find_tables(connection, ["cut"])["cut"].partitioning == partitioning


def test_dropping_takes_all_of_them_and_no_more(target: Adapter, connection: Any) -> None:
    make(target, connection, PARENT, CHILD)
    connection.execute(target.dialect.add_foreign_key(CHILD, KEY))
    with pytest.raises(DbdynoError) as caught, target.understood("drop"):
        connection.execute(target.dialect.drop(["parent"]))
    assert caught.value.code == "table_needed"
    connection.execute(target.dialect.drop(["parent", "child", "missing"]))
    assert target.find_tables(connection, ["parent", "child"]) == {}


def test_a_view_is_no_table(target: Adapter, connection: Any) -> None:
    connection.execute("create view seen as select 1 as id")
    assert not target.find_tables(connection, ["seen"])["seen"].is_table


def test_settling_leaves_what_it_found(target: Adapter, connection: Any) -> None:
    make(target, connection, PARENT)
    connection.execute("insert into parent (note) values ('kept')")
    before = {one.name: one.value for one in target.describe(connection).settings}
    target.settle(connection, ["parent"])
    after = {one.name: one.value for one in target.describe(connection).settings}
    assert before.items() <= after.items()
    assert connection.execute("select note from parent").fetchone()[0].rstrip() == "kept"


def test_one_instant_sees_no_other_session(
    target: Adapter, connection: Any, server: Server
) -> None:
    make(target, connection, PARENT)
    with target.one_instant(connection), server.connect() as other:
        assert connection.execute("select count(*) from parent").fetchone() == (0,)
        other.execute("insert into parent (note) values ('late')")
        assert connection.execute("select count(*) from parent").fetchone() == (0,)
    assert connection.execute("select count(*) from parent").fetchone() == (1,)


def test_free_connections_are_those_that_can_be_opened(
    target: Adapter, connection: Any, server: Server
) -> None:
    def taken_by_three() -> int:
        free = target.free_connections(connection).count
        with contextlib.ExitStack() as opened:
            for _ in range(3):
                opened.enter_context(server.connect())
            return free - target.free_connections(connection).count

    # A closed session remains for a moment, and may disappear in between.
    assert eventually(taken_by_three, lambda number: number == 3)


def test_a_private_server_is_described_in_full(
    target: Adapter, connection: Any, server: Server
) -> None:
    found = target.describe(connection)
    assert promise_of(native_database(server.endpoint().protocol), found.durability) == "full"
    assert found.cache_bytes == 64 * 2**20
    assert found.version.startswith(str(found.version_number // 10_000))
    assert not found.is_in_recovery
    assert found.settings


MAY_SEE = "has_function_privilege"  # without a sound answer, what it permits is tried
# Facts that one column tells, or one query of MariaDB asks for.
TOLD_TOGETHER = ({"version", "version_number", "settings"}, {"durability", "build"})


def test_an_odd_fact_costs_only_itself(
    target: Adapter, connection: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = Answers()
    answers.change_those_of(connection, monkeypatch)
    whole = _described(target, connection)
    assert len(answers.seen) > 10
    assert not whole["unreadable"]
    for column in list(answers.seen):
        answers.changed = [column]
        for kind, answers.value in ODD.items():
            found = _described(target, connection)
            said = set(found["unreadable"])
            taken = {name for name, fact in found.items() if ODD["text"] in str(fact)}
            lost = {name for name in whole if found[name] != whole[name]} - {"unreadable"}
            assert lost - taken <= said | {"product"}, (column, kind)
            assert len(said) < 2 or any(said <= facts for facts in TOLD_TOGETHER), (column, kind)
            if kind == "text":
                assert said or taken or column.name == MAY_SEE, column
            else:
                assert said or column.name == MAY_SEE, (column, kind)


def _described(target: Adapter, connection: Any) -> dict[str, Any]:
    """The description as it is recorded."""
    recorded: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(target.describe(connection)))
    return recorded


@pytest.mark.parametrize(
    ("statement", "code"),
    [
        ("select * from nowhere", "missing_table"),
        ("create table parent (id int)", "table_exists"),
        ("select from from", "server_error"),
    ],
)
def test_errors_are_understood(target: Adapter, connection: Any, statement: str, code: str) -> None:
    make(target, connection, PARENT)
    with pytest.raises(DbdynoError) as caught, target.understood("try it"):
        connection.execute(statement)
    assert caught.value.code == code
    assert caught.value.message.startswith("cannot try it: ")
    assert caught.value.__cause__ is not None


def test_a_session_that_was_ended_is_lost(target: Adapter, connection: Any, server: Server) -> None:
    ending = {
        "postgresql": ("select pg_backend_pid()", "select pg_terminate_backend({})"),
        "mysql": ("select connection_id()", "kill {}"),
    }
    query, end = ending[target.name]
    with server.connect() as victim:
        (number,) = victim.execute(query).fetchone()
        connection.execute(end.format(number))
        with pytest.raises(DbdynoError) as caught, target.understood("go on"):
            victim.execute("select 1")
    assert caught.value.code == "server_lost"
    assert victim.closed
