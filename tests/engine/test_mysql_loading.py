"""Bulk loading into MariaDB: what arrives, by both methods, and what remains after a failure."""

import msgspec
import pytest

from dbdyno.engine import load
from dbdyno.errors import DbdynoError
from dbdyno.model.frame import Loaded, Progress
from dbdyno.model.generators import (
    Block,
    Constant,
    Null,
    Number,
    Numbered,
    Random,
    Sequence,
    Template,
)
from dbdyno.model.plan import LoadColumn, LoadPlan, LoadTable, Tls
from tests.engine.certificates import make_certificates
from tests.engine.mariadb import MariaDB
from tests.engine.running import plan_for, times
from tests.support.patience import eventually, wait_until

INFILE = "load data local infile 'dbdyno' into table target character set utf8mb4"
INSERT = "insert into target values"
WAYS = [INFILE, INSERT]
ID = LoadColumn(kind="int8", generator=Sequence(1))
FILLER = LoadColumn(kind="text", generator=Constant("x" * 80))


def table_of(*columns: LoadColumn, rows: int, **changes) -> LoadTable:
    known = {"name": "target", "copy": INFILE, "columns": list(columns), "pieces_max": 8}
    return LoadTable(**{**known, "rows": rows, "rows_total": rows, **changes})


def plan_of(server, *tables: LoadTable, jobs: int = 2, seed: int = 1, **endpoint) -> LoadPlan:
    return LoadPlan(endpoint=server.endpoint(**endpoint), seed=seed, jobs=jobs, tables=list(tables))


@pytest.fixture
def target(mariadb):
    mariadb.execute("create table target (id bigint primary key, filler varchar(200))")
    yield lambda what: mariadb.execute(f"select {what} from target")
    mariadb.execute("drop table target")


@pytest.mark.parametrize("way", WAYS)
def test_every_generator_and_type(mariadb, way):
    mariadb.execute(
        "create table target (id bigint, block int, low int, eight bigint, at datetime(6),"
        " nothing text, padding char(4), name varchar(9), digits text, number text, hard text)"
    )
    hard = "a\tb\nc\\d'e\"f\\N é🐘"
    generators = [
        ("int8", Sequence(-1)),
        ("int4", Block(2, 5)),
        ("int4", Random(-3, 3)),
        ("int8", Random(-(2**63), 2**63 - 1)),
        ("timestamp", Number(86_400_000_001)),
        ("text", Null()),
        ("text", Constant("a   ")),
        ("text", Numbered("é", 9)),
        ("text", Template("##-@@-é")),
        ("text", Sequence(7)),
        ("text", Constant(hard)),
    ]
    columns = [LoadColumn(kind=kind, generator=generator) for kind, generator in generators]
    table = table_of(*columns, rows=500, copy=way)
    frames = list(load(plan_of(mariadb, table)))

    loaded = mariadb.execute("select * from target order by id")
    assert [row[0] for row in loaded] == list(range(-1, 499))
    assert [row[1] for row in loaded] == [5 + row // 2 for row in range(500)]
    assert {row[2] for row in loaded} == set(range(-3, 4))
    assert len({row[3] for row in loaded}) == 500
    assert loaded[0][4].isoformat() == "2000-01-02T00:00:00.000001"
    assert loaded[0][5:8] == (None, "a", "é9")
    assert loaded[3][9:] == ("10", hard)
    odd = "select count(*) from target where digits not regexp '^[0-9]{2}-[a-z]{2}-é$'"
    assert mariadb.execute(odd) == [(0,)]
    assert frames[-2:] == [Progress("target", 500, 500), frames[-1]]
    assert isinstance(frames[-1], Loaded)
    mariadb.execute("drop table target")


def test_a_million_rows(mariadb, target):
    list(load(plan_of(mariadb, table_of(ID, FILLER, rows=1_000_000), jobs=3)))
    assert target("count(*), min(id), max(id), min(length(filler))") == [(10**6, 1, 10**6, 80)]


def test_literals_make_the_whole(mariadb, target):
    list(load(plan_of(mariadb, table_of(ID, FILLER, rows=130_001, copy=INSERT), jobs=3)))
    assert target("count(*), max(id)") == [(130_001, 130_001)]


@pytest.mark.parametrize("way", WAYS)
def test_no_rows_at_all(mariadb, target, way):
    frames = list(load(plan_of(mariadb, table_of(ID, FILLER, rows=0, copy=way))))
    assert frames[-1].rows == 0
    assert target("count(*)") == [(0,)]


@pytest.mark.parametrize("way", WAYS)
def test_in_one_transaction_with_what_comes_before(mariadb, target, way):
    mariadb.execute("insert into target values (0, 'old')")
    table = table_of(ID, FILLER, rows=60_000, pieces_max=1, before=["delete from target"], copy=way)
    list(load(plan_of(mariadb, table)))
    assert target("count(*), min(id)") == [(60_000, 1)]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"rows": 2000}, "Duplicate entry '1500' for key 'PRIMARY' (1062)"),
        ({"rows": 2000, "copy": INSERT}, "Duplicate entry '1500' for key 'PRIMARY' (1062)"),
        ({"columns": [ID, ID, ID]}, "Row 1 was truncated; it contained more data"),
        ({"columns": [ID]}, "Row 1 doesn't contain data for all columns (1261)"),
        ({"columns": [ID], "copy": INSERT}, "Column count doesn't match value count"),
        ({"copy": INFILE.replace("target", "nowhere")}, "doesn't exist (1146)"),
        ({"before": ["select nothing"]}, "Unknown column 'nothing'"),
        ({"copy": "select 1"}, "the statement takes no rows"),
    ],
)
def test_a_failure_leaves_nothing_of_its_transaction(mariadb, target, changes, expected):
    mariadb.execute("insert into target values (1500, 'there')")
    table = msgspec.structs.replace(table_of(ID, FILLER, rows=1000, pieces_max=1), **changes)
    with pytest.raises(DbdynoError, match="loading target failed") as caught:
        list(load(plan_of(mariadb, table)))
    assert expected in str(caught.value)
    assert target("id, filler") == [(1500, "there")]
    wait_until(lambda: mariadb.backends() == [], "the end of the load")


@pytest.fixture
def forbidden(mariadb):
    mariadb.execute("set global local_infile = off")
    yield
    mariadb.execute("set global local_infile = on")


def test_where_the_server_takes_only_small_packets(mariadb, target):
    mariadb.execute("set global max_allowed_packet = 1024")
    try:
        with pytest.raises(DbdynoError) as caught:
            list(load(plan_of(mariadb, table_of(ID, FILLER, rows=10_000))))
    finally:
        mariadb.execute("set global max_allowed_packet = 16777216")
    assert "max_allowed_packet" in caught.value.hint
    assert target("count(*)") == [(0,)]


@pytest.mark.usefixtures("forbidden")
def test_where_the_server_forbids_it(mariadb, target):
    with pytest.raises(DbdynoError) as caught:
        list(load(plan_of(mariadb, table_of(ID, FILLER, rows=10))))
    assert "local infile" in str(caught.value)
    assert caught.value.hint == "set global local_infile = 1 on the server"
    list(load(plan_of(mariadb, table_of(ID, FILLER, rows=10, copy=INSERT))))
    assert target("count(*)") == [(10,)]


@pytest.fixture
def odd_mode(mariadb):
    """Use a sql_mode in which a backslash is a normal character and long values are truncated."""
    ((before,),) = mariadb.execute("select @@global.sql_mode")
    mariadb.execute("set global sql_mode = 'NO_BACKSLASH_ESCAPES,ANSI_QUOTES'")
    yield
    mariadb.execute(f"set global sql_mode = '{before}'")


@pytest.mark.usefixtures("odd_mode")
@pytest.mark.parametrize("way", WAYS)
def test_a_servers_own_mode_changes_no_row(mariadb, target, way):
    hard = "a\tb\\c'd\"e\\N"
    columns = ID, LoadColumn(kind="text", generator=Constant(hard))
    list(load(plan_of(mariadb, table_of(*columns, rows=3, copy=way))))
    assert target("filler") == [(hard,)] * 3


@pytest.mark.usefixtures("odd_mode")
@pytest.mark.parametrize("way", WAYS)
def test_what_does_not_fit_is_not_cut_off(mariadb, target, way):
    long = LoadColumn(kind="text", generator=Constant("x" * 201))
    with pytest.raises(DbdynoError, match=r"Data (too long|truncated) for column 'filler'"):
        list(load(plan_of(mariadb, table_of(ID, long, rows=3, copy=way))))


def test_a_run_sends_no_file(mariadb, target, checked):
    """A server that requests one gets nothing: only the loader sends rows, and only its own."""
    script = "load data local infile '/etc/hostname' into table target;"
    result = checked(plan_for(mariadb.endpoint(), script, query_mode="simple", **times(1)))
    assert result.counters.failed == 2
    assert target("count(*)") == [(0,)]


@pytest.mark.parametrize("way", WAYS)
def test_a_connection_that_is_killed(mariadb, target, way):
    frames = load(plan_of(mariadb, table_of(ID, FILLER, rows=100_000_000, copy=way), jobs=1))
    next(frames)
    (backend,) = eventually(mariadb.backends, lambda found: len(found) == 1)
    mariadb.execute(f"kill {backend}")
    with pytest.raises(DbdynoError, match="loading target failed"):
        list(frames)
    assert target("count(*)") == [(0,)]


def test_a_server_that_stops_reading_stops_the_load(mariadb, target):
    frames = load(plan_of(mariadb, table_of(ID, FILLER, rows=100_000_000, pieces_max=1)))
    next(frames)
    frames.close()
    wait_until(lambda: mariadb.backends() == [], "the end of the load")
    assert target("count(*)") == [(0,)]


def test_over_tls(tmp_path):
    server = MariaDB()
    try:
        server.encrypt(make_certificates(tmp_path), "server")
        server.execute("create table target (id bigint primary key, filler varchar(200))")
        table = table_of(ID, FILLER, rows=120_000)
        list(load(plan_of(server, table, host="127.0.0.1", tls=Tls(mode="require"))))
        assert server.execute("select count(*) from target") == [(120_000,)]
    finally:
        server.remove()


def test_it_does_not_log_in(mariadb):
    with pytest.raises(DbdynoError) as caught:
        list(load(plan_of(mariadb, table_of(ID, rows=1), database="atlantis")))
    assert caught.value.code == "cannot_connect"
    assert caught.value.hint == "create the database, or name another"
