"""Bulk loading: what arrives, and what remains after a failure or a crash."""

import subprocess
import sys
from pathlib import Path

import msgspec
import psycopg
import pytest

from dbdyno.databases.postgresql.server.binaries import local_binaries
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
from tests.engine.postgres import Postgres
from tests.engine.proxies import forward_to, listening
from tests.support.patience import eventually, wait_until
from tests.support.program import Program

ROOT = Path(__file__).parent.parent.parent
ID = LoadColumn(kind="int8", generator=Sequence(1))
FILLER = LoadColumn(kind="text", generator=Constant("x" * 80))


def table_of(*columns: LoadColumn, rows: int, pieces_max: int = 8, **changes) -> LoadTable:
    copy = "copy target from stdin (format binary)"
    known = {"name": "target", "copy": copy, "columns": list(columns)}
    return LoadTable(
        **{**known, "rows": rows, "rows_total": rows, "pieces_max": pieces_max, **changes}
    )


def plan_of(server, *tables: LoadTable, jobs: int = 2, seed: int = 1, **endpoint) -> LoadPlan:
    return LoadPlan(endpoint=server.endpoint(**endpoint), seed=seed, jobs=jobs, tables=list(tables))


@pytest.fixture
def connection(each_server):
    with each_server.connect() as connection:
        yield connection
        connection.execute("drop table if exists target")


@pytest.fixture
def one(local):
    with local.connect() as connection:
        connection.execute("create table target (id bigint, filler text)")
        yield connection
        connection.execute("drop table target")


def rows(connection: psycopg.Connection) -> list[tuple]:
    return connection.execute("select * from target order by 1").fetchall()


def test_every_generator_and_type(each_server, connection):
    connection.execute(
        "create table target (id bigint, block int, low int, eight bigint, at timestamp,"
        " nothing text, padding char(4), name varchar, digits text, number text)"
    )
    generators = [
        ("int8", Sequence(-1)),
        ("int4", Block(2, 5)),
        ("int4", Random(-3, 3)),
        ("int8", Random(-(2**63), 2**63 - 1)),
        ("timestamp", Number(86_400_000_000)),
        ("text", Null()),
        ("text", Constant("a   ")),
        ("text", Numbered("é", 9)),
        ("text", Template("##-@@-é")),
        ("text", Sequence(7)),
    ]
    columns = [LoadColumn(kind=kind, generator=generator) for kind, generator in generators]
    table = table_of(*columns, rows=500)
    frames = list(load(plan_of(each_server, table)))

    loaded = rows(connection)
    assert [row[0] for row in loaded] == list(range(-1, 499))
    assert [row[1] for row in loaded] == [5 + row // 2 for row in range(500)]
    assert {row[2] for row in loaded} == set(range(-3, 4))
    assert len({row[3] for row in loaded}) == 500
    assert any(row[3] < 0 for row in loaded)
    assert loaded[0][4].isoformat() == "2000-01-02T00:00:00"
    assert loaded[0][5:8] == (None, "a   ", "é9")
    assert loaded[499][7] == "é508"
    assert loaded[3][9] == "10"
    shape = "select bool_and(digits ~ '^[0-9]{2}-[a-z]{2}-é$') from target"
    assert connection.execute(shape).fetchone() == (True,)
    assert isinstance(frames[-1], Loaded)
    assert frames[-1].rows == 500
    assert frames[-2] == Progress("target", 500, 500)

    # The content of a row depends on the seed and its number, not on which job loaded it.
    connection.execute("truncate target")
    list(load(plan_of(each_server, table, jobs=1)))
    assert rows(connection) == loaded
    connection.execute("truncate target")
    list(load(plan_of(each_server, table, seed=2)))
    assert rows(connection) != loaded


def test_pieces_make_the_whole(local, one):
    list(load(plan_of(local, table_of(ID, FILLER, rows=230_001), jobs=3)))
    whole = "select count(*), count(distinct id), min(id), max(id) from target"
    assert one.execute(whole).fetchone() == (230_001, 230_001, 1, 230_001)
    assert one.execute("select count(distinct xmin::text) from target").fetchone()[0] == 4


def test_no_rows_at_all(local, one):
    assert list(load(plan_of(local, table_of(ID, FILLER, rows=0))))[-1].rows == 0
    assert rows(one) == []


def test_in_one_transaction_with_what_comes_before(local, one):
    one.execute("insert into target values (0, 'old')")
    frozen = "copy target from stdin (format binary, freeze)"
    table = table_of(
        ID, FILLER, rows=100_000, pieces_max=1, before=["truncate target"], copy=frozen
    )
    list(load(plan_of(local, table)))
    assert one.execute("select count(*), min(id) from target").fetchone() == (100_000, 1)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"rows": 200_000}, 'violates check constraint "target_id_check" (23514)'),
        ({"copy": "copy nowhere from stdin (format binary)"}, "does not exist (42P01)"),
        ({"before": ["select 1/0"]}, "division by zero (22012)"),
        ({"columns": [ID]}, "(22P04)"),
        ({"copy": "copy target from stdin (format text)"}, "(22P02)"),
    ],
    ids=["constraint", "table", "before", "columns", "format"],
)
def test_a_failure_leaves_nothing_of_its_transaction(local, one, changes, expected):
    one.execute("alter table target add check (id <> 150000)")
    table = msgspec.structs.replace(table_of(ID, FILLER, rows=1000, pieces_max=1), **changes)
    with pytest.raises(DbdynoError, match="loading target failed") as caught:
        list(load(plan_of(local, table)))
    assert expected in str(caught.value)
    assert rows(one) == []
    wait_until(lambda: local.backends() == [], "the end of the load")


def test_a_server_that_dies(tmp_path):
    server = Postgres(local_binaries()[0].folder)
    try:
        with server.connect() as connection:
            connection.execute("create table target (id bigint, filler text)")
        frames = load(plan_of(server, table_of(ID, FILLER, rows=100_000_000)))
        next(frames)
        # Progress is reported by the clock, even before the jobs have connected.
        wait_until(lambda: len(server.backends()) == 2, "the jobs of the load")
        server.kill()
        with pytest.raises(DbdynoError, match="loading target failed"):
            list(frames)
    finally:
        server.remove()


def test_a_backend_that_is_terminated(local, one):
    frames = load(plan_of(local, table_of(ID, FILLER, rows=100_000_000), jobs=1))
    next(frames)
    (backend,) = eventually(local.backends, lambda found: len(found) == 1)
    one.execute("select pg_terminate_backend(%s)", [backend])
    with pytest.raises(DbdynoError, match=r"administrator command \(57P01\)"):
        list(frames)
    assert rows(one) == []


def test_a_server_that_stops_reading_stops_the_load(local, one):
    frames = load(plan_of(local, table_of(ID, FILLER, rows=100_000_000, pieces_max=1)))
    next(frames)
    frames.close()
    wait_until(lambda: local.backends() == [], "the end of the load")
    assert rows(one) == []


LOAD = """
import msgspec
from dbdyno.engine import load
from dbdyno.model.plan import LoadPlan
for frame in load(msgspec.json.decode({plan!r}, type=LoadPlan)):
    print(frame, flush=True)
"""


def test_its_parents_death_ends_it(local, one):
    table = table_of(ID, FILLER, rows=100_000_000, pieces_max=1)
    program = LOAD.format(plan=msgspec.json.encode(plan_of(local, table)))
    command = [sys.executable, "-c", program]
    with Program(command, cwd=ROOT, stdout=subprocess.PIPE) as parent:
        parent.stdout.readline()
        wait_until(local.backends, "the load's sessions")
        parent.kill()
    wait_until(lambda: local.backends() == [], "the end of the load")
    assert rows(one) == []


def test_over_tls(tmp_path):
    certificates = make_certificates(tmp_path)
    access = "local all all trust\nhostssl all all 127.0.0.1/32 trust\n"
    server = Postgres(local_binaries()[0].folder, access, listen_addresses="127.0.0.1")
    try:
        server.encrypt(certificates, "server")
        with server.connect() as connection:
            connection.execute("create table target (id bigint, filler text)")
            tls = Tls(mode="require")
            table = table_of(ID, FILLER, rows=120_000)
            list(load(plan_of(server, table, host="127.0.0.1", tls=tls)))
            assert connection.execute("select count(*) from target").fetchone() == (120_000,)
    finally:
        server.remove()


def test_a_backlog_of_one(local, one, tmp_path):
    behaviour = forward_to(local.socket_path)
    with listening(tmp_path / "s", behaviour, backlog=1, pause_s=0.05) as address:
        plan = plan_of(local, table_of(ID, FILLER, rows=500_000, pieces_max=8), jobs=8)
        endpoint = msgspec.structs.replace(plan.endpoint, address=address)
        list(load(msgspec.structs.replace(plan, endpoint=endpoint)))
    assert one.execute("select count(*) from target").fetchone() == (500_000,)


def test_it_does_not_log_in(local):
    with pytest.raises(DbdynoError) as caught:
        list(load(plan_of(local, table_of(ID, rows=1), database="atlantis")))
    assert caught.value.code == "cannot_connect"
    assert caught.value.hint == "create the database, or name another"
