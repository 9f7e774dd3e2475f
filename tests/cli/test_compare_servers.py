"""``dbdyno compare`` on runs of real servers: it names what was changed between two runs."""

import json
from contextlib import closing

import pytest

from dbdyno.cli import main
from dbdyno.store.run import open_run

pytestmark = pytest.mark.usefixtures("home", "own_signals")

ROWS = 400_000  # looking at each takes much longer than anything else a busy host delays
FEW = 40_000
LOOKUP = "\\set n random(1, {rows})\nselect count(*) from items where n = :n;\n"


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "lookup.sql"
    path.write_text(LOOKUP.format(rows=ROWS))
    return path


@pytest.fixture
def rare(tmp_path):
    """Lookups that leave the host to other tests, where it does not matter how many there are."""
    path = tmp_path / "rare.sql"
    path.write_text(LOOKUP.format(rows=FEW) + "\\sleep 20 ms\n")
    return path


def run(script, *where, seconds="1"):
    """A short run; too short for intervals within it."""
    code = main(["run", str(script), "-c", "2", "-T", seconds, "--warmup", "0s", *where])
    assert code == 0, open_run("last").record.invalid_reasons


def comparison(capsys, *arguments):
    capsys.readouterr()
    assert main(["compare", "last~1", "last", "--json", *arguments]) == 0
    return json.loads(capsys.readouterr().out)


def items(connection, numbers):
    connection.execute("create table items (id int primary key, n int, filler char(80))")
    connection.execute(f"insert into items select n, n, 'x' from {numbers}".encode())
    connection.execute(b"analyze table items" if "seq_" in numbers else b"analyze items")


def has(lines, *parts):
    return [line for line in lines if all(part in line for part in parts)]


def test_postgresql_an_index_and_a_setting_are_named_and_decide_two_single_runs(
    capsys, script, database
):
    with closing(database.connect()) as connection:
        items(connection, f"generate_series(1, {ROWS}) n")
        run(script, "--target", database.url, seconds="3")
        connection.execute("create index items_n on items (n)")
        connection.execute(f"alter database {connection.info.dbname} set work_mem = '9MB'".encode())
        run(script, "--target", database.url, seconds="3")
    found = comparison(capsys)
    differences = found["unequal"]
    assert has(differences, "Different schema: index items_n of items is absent", "btree (n)")
    assert has(differences, "Different plan", "Seq Scan on items", "using items_n")
    assert has(differences, "Different setting: work_mem", "9216 kB")
    verdicts = {metric["id"]: (metric["verdict"], metric["p"]) for metric in found["metrics"]}
    assert verdicts["throughput_tps"] == ("better", None)
    assert has(found["doubts"], "is not a test", "the plan of")


def test_mariadb_an_index_is_named_and_decides_two_single_runs(
    capsys, script, mariadb_server, new_database
):
    database = new_database(mariadb_server)
    with closing(database.connect()) as connection:
        items(connection, f"(select seq as n from seq_1_to_{ROWS}) s")
        run(script, "--target", database.url, seconds="3")
        connection.execute("alter table items add index items_n (n)")
        run(script, "--target", database.url, seconds="3")
    found = comparison(capsys)
    assert has(found["unequal"], "Different schema: index items_n of items is absent", "btree (n)")
    assert has(found["unequal"], "Different plan", "ALL on items", "ref on items using items_n")
    verdicts = {metric["id"]: metric["verdict"] for metric in found["metrics"]}
    assert verdicts["throughput_tps"] == "better"


def test_another_version_and_build_are_warned_of(capsys, rare, postgres_server, embedded_server):
    one, other = postgres_server, embedded_server
    for server in (one, other):
        with closing(server.connect()) as connection:
            items(connection, f"generate_series(1, {FEW}) n")
            run(rare, "--target", server.url)
            connection.execute("drop table items")
    differences = comparison(capsys)["unequal"]
    assert has(differences, "Different server: the version is postgres")
    assert has(differences, "Different build: its configure line is", "how they were built")
    assert not has(differences, "Different schema", "items")


@pytest.mark.parametrize("level", ["off", "basic"])
def test_the_schema_is_compared_whatever_the_level_of_telemetry(capsys, rare, database, level):
    with closing(database.connect()) as connection:
        items(connection, f"generate_series(1, {FEW}) n")
        run(rare, "--target", database.url, "--telemetry", level)
        connection.execute("alter table items set (fillfactor = 70)")
        run(rare, "--target", database.url, "--telemetry", level)
    assert has(comparison(capsys)["unequal"], "items is a table in", "with (fillfactor=70)")


def test_a_schema_that_cannot_be_read_costs_only_itself(capsys, tmp_path, database):
    script = tmp_path / "one.sql"
    script.write_text("select 1;\n\\sleep 20 ms\n")
    with closing(database.connect()) as connection, closing(database.connect()) as other:
        connection.execute("create table items (id int)")
        connection.execute("create view seen as select id from items")
        with other.transaction():  # whose end nobody knows, as of an ALTER TABLE
            other.execute("lock table items in access exclusive mode")
            run(script, "--target", database.url)
        assert "the schema is not recorded: " in capsys.readouterr().err
        assert open_run("last").schema == {}
        run(script, "--target", database.url)
    assert not has(comparison(capsys)["unequal"], "Different schema")
