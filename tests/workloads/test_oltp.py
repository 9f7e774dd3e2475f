"""sysbench's workloads on both kinds of server: each tool runs on the other's tables."""

import re
import subprocess
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from dbdyno import engine
from dbdyno.databases.adapter import Adapter
from dbdyno.databases.adapters import native_adapter
from dbdyno.model.plan import Protocol
from dbdyno.servers.base import Server
from dbdyno.workloads.invariants import Committed
from dbdyno.workloads.oltp.workload import MEMBERS
from dbdyno.workloads.parameters import Value
from dbdyno.workloads.preparing import LoadOptions, Place, Prepared, prepare_data
from dbdyno.workloads.registry import find_workload

NAMES = [member.name for member in MEMBERS]
SIZE = 1000


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


@pytest.fixture
def prepare(server: Server, target: Adapter, connection: Any) -> Callable[..., Prepared]:
    def run(name: str, **given: Value) -> Prepared:
        return prepare_data(
            find_workload(name),
            given,
            Place(target, connection, server.endpoint()),
            bulk=engine.load,
            options=LoadOptions(seed=1, jobs=1),
            watch=lambda _progress: None,
        )

    return run


def sysbench(server: Server, script: str, *arguments: str, tables: int = 2) -> str:
    """Runs Debian's sysbench on the test's own database."""
    address = server.endpoint().address
    assert address.unix
    if server.endpoint().protocol == "mysql":
        socket = parse_qs(urlsplit(server.url).query)["socket"][0]
        options = ["--mysql-socket=" + socket, "--mysql-user=root", "--db-driver=mysql"]
        options.append(f"--mysql-db={server.endpoint().database}")
    else:
        folder = address.unix.path.rpartition("/")[0]
        options = [f"--pgsql-host={folder}", "--pgsql-user=postgres", "--db-driver=pgsql"]
        options.append(f"--pgsql-db={server.endpoint().database}")
    command = [
        "sysbench",
        script,
        *options,
        f"--tables={tables}",
        f"--table-size={SIZE}",
        *arguments,
    ]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def shape(target: Adapter, connection: Any) -> list[Any]:
    """What the catalog shows, without the mark that only our tables have."""
    found = target.find_tables(connection, ["sbtest1", "sbtest2"])
    return [(table.name, table.columns, table.primary_key) for table in found.values()]


INDEXES = {
    "postgresql": "select indexname, indexdef from pg_indexes "
    "where tablename = 'sbtest2' order by 1",
    "mysql": "select index_name, column_name from information_schema.statistics "
    "where table_schema = database() and table_name = 'sbtest2' order by 1",
}
TEMPLATE = {
    "postgresql": "select count(*) from sbtest2 where c ~ '^([0-9]{{11}}-){{9}}[0-9]{{11}} *$' "
    "and pad ~ '^([0-9]{{11}}-){{4}}[0-9]{{11}} *$' and k between 1 and {size}",
    "mysql": "select count(*) from sbtest2 where c rlike '^([0-9]{{11}}-){{9}}[0-9]{{11}}$' "
    "and pad rlike '^([0-9]{{11}}-){{4}}[0-9]{{11}}$' and k between 1 and {size}",
}


def test_the_tables_are_sysbenchs(
    prepare: Callable[..., Prepared], server: Server, target: Adapter, connection: Any
) -> None:
    prepare("oltp_read_write", tables=2, table_size=SIZE)
    own = shape(target, connection), connection.execute(INDEXES[target.name]).fetchall()
    matching = connection.execute(TEMPLATE[target.name].format(size=SIZE)).fetchone()
    assert matching == (SIZE,)
    connection.execute(target.dialect.drop(["sbtest1", "sbtest2"]))
    sysbench(server, "oltp_read_write", "prepare")
    sysbench_shape = shape(target, connection), connection.execute(INDEXES[target.name]).fetchall()
    assert own == sysbench_shape
    matching = connection.execute(TEMPLATE[target.name].format(size=SIZE)).fetchone()
    assert matching == (SIZE,)


def test_sysbench_runs_on_our_tables(prepare: Callable[..., Prepared], server: Server) -> None:
    prepare("oltp_read_write", tables=2, table_size=SIZE)
    output = sysbench(server, "oltp_read_write", "--events=50", "--time=60", "run")
    assert re.search(r"transactions: +50 ", output)


def test_sysbenchs_tables_are_used_as_they_are(
    prepare: Callable[..., Prepared], server: Server
) -> None:
    sysbench(server, "oltp_read_write", "prepare")
    prepared = prepare("oltp_point_select", tables=2)
    assert (prepared.made_by, prepared.values["table_size"]) == ("sysbench", SIZE)
    assert prepared.report is None


def play(connection: Any, name: str, protocol: Protocol, values: dict[str, Value]) -> None:
    """Executes the SQL of one transaction, with values that a client might draw."""
    (script,) = find_workload(name).scripts(values, protocol)
    lines = [line for line in script.text.splitlines() if not line.startswith("\\")]
    for line in lines:
        text = re.sub(r":new_(c|pad)\d*", "'text'", line)
        text = re.sub(r":c\d+", "'other'", text)
        text = re.sub(r":(\w+_(high|key)\w*|key\d+_end)", "900", text)
        text = text.replace(":fresh", "-7")
        connection.execute(re.sub(r":\w+", "500", text))


@pytest.mark.parametrize("name", NAMES)
def test_its_statements_run_and_keep_its_laws(
    prepare: Callable[..., Prepared], target: Adapter, connection: Any, name: str
) -> None:
    values = prepare(name, table_size=SIZE).values
    workload = find_workload(name)
    before = workload.snapshot(target, connection, values)
    play(connection, name, target.name, values)  # type: ignore[arg-type]
    after = workload.snapshot(target, connection, values)
    committed = {name: Committed(1, 1)}
    assert workload.verify(values, before, after, committed) == []
    connection.execute("delete from sbtest1 where id between 1 and 9")
    connection.execute("update sbtest1 set k = k + 1000")
    damaged = workload.snapshot(target, connection, values)
    assert workload.verify(values, before, damaged, committed) != []


def test_many_rows_come_by_one_insert(
    prepare: Callable[..., Prepared], target: Adapter, connection: Any
) -> None:
    values = prepare("bulk_insert", rows_per_insert=7).values
    play(connection, "bulk_insert", target.name, values)  # type: ignore[arg-type]
    assert connection.execute("select count(*), max(id) from sbtest1").fetchone() == (7, 7)


def test_two_clients_of_the_family_share_their_data(prepare: Callable[..., Prepared]) -> None:
    prepare("oltp_read_write", table_size=SIZE)
    assert prepare("oltp_delete").values["table_size"] == SIZE


def text(name: str, protocol: Protocol = "postgresql", **given: Value) -> str:
    workload = find_workload(name)
    (script,) = workload.scripts(workload.complete(workload.read(given)), protocol)
    return script.text


def statements(script: str) -> list[str]:
    return [line for line in script.splitlines() if not line.startswith("\\")]


def test_the_statements_of_a_transaction_are_as_many_as_sysbenchs() -> None:
    counts = {name: len(statements(text(name))) for name in NAMES}
    assert counts == {
        "oltp_point_select": 1,
        "oltp_read_only": 16,
        "oltp_read_write": 20,
        "oltp_write_only": 6,
        "oltp_update_index": 1,
        "oltp_update_non_index": 1,
        "oltp_insert": 1,
        "oltp_delete": 1,
        "select_random_points": 1,
        "select_random_ranges": 1,
    }


def test_parameters_make_the_transaction() -> None:
    made = statements(
        text(
            "oltp_read_write",
            point_selects=2,
            simple_ranges=0,
            sum_ranges=3,
            order_ranges=0,
            distinct_ranges=0,
            index_updates=0,
            non_index_updates=2,
            delete_inserts=0,
            skip_trx="on",
        )
    )
    verbs = [re.sub(r":\w+", "?", line) for line in made]
    assert verbs == [
        *["SELECT c FROM sbtest1 WHERE id=?;"] * 2,
        *["SELECT SUM(k) FROM sbtest1 WHERE id BETWEEN ? AND ?;"] * 3,
        *["UPDATE sbtest1 SET c=? WHERE id=?;"] * 2,
    ]
    assert len(statements(text("oltp_read_only", range_selects="off"))) == 12


@pytest.mark.parametrize("tables", [1, 2, 3, 7])
def test_every_table_is_reached_once_a_group(tables: int) -> None:
    made = text("oltp_write_only", tables=tables)
    updates = re.findall(r"UPDATE (sbtest\d+) SET k", made)
    assert updates == [f"sbtest{number}" for number in range(1, tables + 1)]
    assert made.count("\\if ") == made.count("\\endif") == 3 * (tables - 1)


def test_without_collisions_each_client_has_rows_of_its_own() -> None:
    made = text("oltp_read_write", collisions="off")
    drawn = dict(re.findall(r"\\set (\w+) (.*)", made))
    written = {drawn[name] for name in ("index1", "other1", "gone1")}
    (expression,) = written
    clients, size = 7, 100

    def own(client: int, at: int) -> int:
        """The expression's value when its draw is ``at`` of the range's end."""
        end = (size - 1 - client) // clients
        return 1 + client + clients * min(at, end)

    assert expression == (
        "1 + :client_id + :clients * random(0, (:table_size - 1 - :client_id) / :clients)"
    )
    shares = [{own(client, at) for at in range(size)} for client in range(clients)]
    assert set.union(*shares) == set(range(1, size + 1))
    assert sum(map(len, shares)) == size


def test_new_rows_are_numbered_as_sysbench_numbers_them() -> None:
    assert "VALUES (0, " in text("oltp_insert", "mysql")
    assert "VALUES (:fresh, " in text("oltp_insert", "postgresql")


@pytest.mark.parametrize(
    ("auto_inc", "dialect", "row"),
    [(True, "mysql", "(0,"), (False, "mysql", "(:fresh,"), (False, "postgresql", "(:fresh,")],
)
def test_rows_are_numbered_by_the_server_only_if_it_can(auto_inc, dialect, row):
    workload = find_workload("oltp_insert")
    values = {parameter.name: parameter.default for parameter in workload.parameters}
    (script,) = workload.scripts(values | {"auto_inc": auto_inc}, dialect)
    assert f"VALUES {row}" in script.text
