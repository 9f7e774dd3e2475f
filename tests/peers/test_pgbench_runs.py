"""pgbench and the link of that name, side by side on one server."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from dbdyno.servers.base import Server
from dbdyno.servers.private import start_private
from dbdyno.servers.spec import ServerSpec
from dbdyno.store.listing import RUNS
from tests.conftest import SMALL, UNVISITED
from tests.peers.side_by_side import PGBENCH, link, outcome
from tests.workloads.test_compatibility import catalog, facts

SCRIPT = """\
-- a comment
\\set key random(1, :most)
SELECT abalance
  FROM pgbench_accounts WHERE aid = :key;
BEGIN; SELECT 1;
END;
\\sleep 1 ms
"""
BRANCHES = """\
\\set n random(1, 3)
\\if :n > 1
select :n;
\\elif :n = 1
select 0 as m \\gset
select 1 as k
\\gset of_
select 2 as a \\; select 3 as b \\aset
\\endif
\\sleep 1 ms
"""
REFUSED = """\
do $$begin if random() < 0.3 then raise exception using errcode = '40001'; end if; end$$;
do $$begin if random() < 0.3 then raise exception using errcode = '40001'; end if; end$$;
"""
FAILING = "SELECT 1 / 0;\n"
PIPELINES = """\
\\startpipeline
select 1;
select 2;
\\syncpipeline
select 3;
  \\endpipeline
"""
ABORTED = "pgbench: error: Run was aborted; the above results are incomplete.\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pgbench")
    (folder / "own.sql").write_text(SCRIPT)
    (folder / "branches.sql").write_text(BRANCHES)
    (folder / "failing.sql").write_text(FAILING)
    (folder / "refused.sql").write_text(REFUSED)
    (folder / "pipelines.sql").write_text(PIPELINES)
    return folder


@pytest.fixture(scope="module")
def pgbench(folder: Path) -> Path:
    return link(folder, "pgbench")


@pytest.fixture(scope="module")
def server(embedded_server: Server) -> Server:
    """With pgbench's tables, as pgbench makes them."""
    made = outcome(PGBENCH, ["-i", "-q", embedded_server.conninfo])
    assert made.code == 0, made.err
    return embedded_server


@pytest.mark.parametrize(
    "line",
    [
        "-n -c 2 -t 10 -S",
        "-c 2 -j 2 -T 2 -P 1 -r -v",
        "-n -T 1 -R 50 -L 100 -b se@2 -b si@1 -f own.sql -D most=10 --max-tries=3 "
        "--failures-detailed -r -M prepared",
        "-n -C -t 5 -f own.sql -D most=10 -r --random-seed=7 -s 3",
        "-n -t 5 -f branches.sql -r",
        "-n -t 5 -f pipelines.sql -r -M extended",
        "-n -t 5 -f failing.sql",
    ],
)
def test_a_benchmark_has_pgbench_s_output(
    server: Server, folder: Path, pgbench: Path, line: str
) -> None:
    words = [*line.split(), server.conninfo]
    theirs, own = (outcome(program, words, folder) for program in (PGBENCH, pgbench))
    assert own.shape[:2] == theirs.shape[:2], own.err
    if own.code == 0:
        # How many progress lines there are depends on when the last second ends.
        assert {*own.shape[2]} == {*theirs.shape[2]}
    else:
        assert own.err.endswith(ABORTED)
        assert theirs.err.endswith(ABORTED)
        assert "ERROR:  division by zero" in own.err


def test_failures_are_counted_at_the_statement_that_failed(
    server: Server, folder: Path, pgbench: Path
) -> None:
    """Each statement fails by chance, in the same way: all failures have one code."""
    words = ["-n", "-t", "60", "-c", "2", "-r", "-f", "refused.sql", server.conninfo]
    for program in (PGBENCH, pgbench):
        ended = outcome(program, words, folder)
        (failed,) = re.findall(r"number of failed transactions: (\d+)", ended.out)
        found = re.findall(r"^ +[\d.]+ +(\d+) +do ", ended.out, re.MULTILINE)
        first, second = map(int, found)
        assert min(first, second) > 0, ended.out
        assert first + second == int(failed)


def test_a_benchmark_is_a_run(server: Server, folder: Path, pgbench: Path, home: Path) -> None:
    ended = outcome(pgbench, ["-n", "-t", "20", "-c", "2", server.conninfo], folder)
    assert "number of transactions actually processed: 40/40\n" in ended.out
    tps = float(re.findall(r"tps = (\S+)", ended.out)[0])
    (run,) = (home / RUNS).iterdir()
    record = (run / "run.json").read_text()
    assert '"workload": "tpcb"' in record or '"workload":"tpcb"' in record
    assert tps > 1


@pytest.mark.parametrize(
    "line", ["-S -t 1 -h {socket} -d nosuch", "-S -t 1 -h /nowhere", "-t 1 postgresql://x@/y?z=1"]
)
def test_an_unreachable_database_is_an_error(
    server: Server, folder: Path, pgbench: Path, line: str
) -> None:
    socket = server.endpoint().address.unix
    assert socket
    words = line.format(socket=Path(socket.path).parent).split()
    theirs, own = (outcome(program, words, folder) for program in (PGBENCH, pgbench))
    assert (own.code, own.out) == (1, "") == (theirs.code, theirs.out)
    assert own.err.startswith("pgbench: error: ")


def test_the_help_of_the_link_is_pgbench_s(pgbench: Path) -> None:
    ended = outcome(pgbench, ["--help"])
    assert ended.out.startswith("pgbench is a benchmarking tool for PostgreSQL")


def test_missing_tables_are_an_error(
    embedded_server: Server, new_database, folder: Path, pgbench: Path
) -> None:
    words = ["-S", "-t", "1", new_database(embedded_server).conninfo]
    theirs, own = (outcome(program, words, folder) for program in (PGBENCH, pgbench))
    assert own.shape == theirs.shape


@pytest.mark.parametrize(
    "line",
    [
        "-i",
        "-i -q -s 2 -F 80 --unlogged-tables --foreign-keys",
        "-i -I dtGpf --partitions=3",
        "-i -I dtpvg --partitions=2 --partition-method=hash --unlogged-tables -n --foreign-keys",
    ],
)
def test_initialization_makes_the_same_tables(
    embedded_server: Server, new_database, folder: Path, pgbench: Path, line: str
) -> None:
    made = []
    for program in (PGBENCH, pgbench):
        database = new_database(embedded_server)
        ended = outcome(program, [*line.split(), database.conninfo], folder)
        # Pages of partitioned tables are those of their partitions.
        found = rows(database) if "--partitions" in line else facts(database)
        made.append((ended.shape, catalog(database), found))
    (theirs, *their_tables), (own, *own_tables) = made
    assert own_tables == their_tables
    assert (own[0], own[1]) == (theirs[0], theirs[1])
    assert [*without_progress(own[2])] == [*without_progress(theirs[2])]


def rows(server: Server) -> list[tuple[object, ...] | None]:
    with server.connect() as connection:
        return [
            connection.execute(
                f"select count(*), md5(string_agg(t::text, ',' order by t::text)) from {table} t"
            ).fetchone()
            for table in ("pgbench_accounts", "pgbench_tellers", "pgbench_branches")
        ]


def without_progress(lines: list[str]) -> Iterator[str]:
    """How often there is one depends on how fast the rows are made."""
    yield from (line for line in lines if " tuples " not in line)


def test_initialization_names_the_tablespaces(tmp_path: Path, folder: Path, pgbench: Path) -> None:
    with start_private(ServerSpec(settings=SMALL | UNVISITED), connections=4) as server:
        place = server.data_directory / "elsewhere"
        with server.connect() as connection:
            connection.execute("set allow_in_place_tablespaces = on")
            connection.execute("create tablespace \"else where\" location ''")
        words = ["-i", "--tablespace=else where", "--index-tablespace=else where"]
        ended = outcome(pgbench, [*words, server.conninfo], folder)
        assert ended.code == 0, ended.err
        with server.connect() as connection:
            query = (
                "select count(*) from pg_class c join pg_tablespace t on t.oid = c.reltablespace "
                "where spcname = 'else where'"
            )
            assert connection.execute(query).fetchone() == (7,), place
