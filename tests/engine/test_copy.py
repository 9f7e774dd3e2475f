"""COPY between a script and the server: what arrives, what is counted, and how it fails."""

import re
import subprocess
import time
from pathlib import Path

import pytest
from msgspec.structs import asdict

from dbdyno.analysis.compare.compare import compare
from dbdyno.databases.postgresql.server.binaries import local_binaries
from dbdyno.engine import check_plan
from dbdyno.model.frame import Copied, Interval
from dbdyno.model.plan import Lua, Tls
from dbdyno.report.pages.run import render_summary, run_page
from dbdyno.report.render_html import render_html
from dbdyno.run.options.grammar import WeightedName
from dbdyno.run.options.run_options import RunOptions
from dbdyno.run.tools import engine_tools
from dbdyno.store.query import sql
from tests.engine.happenings import dies_and_comes_back
from tests.engine.postgres import Postgres
from tests.engine.running import SECOND, plan_for, times
from tests.run.test_runner import Observer
from tests.support.running import run

TABLE = "create table copied (a bigint, b text, c text)"
# The line of each command, and its rows.
FORMATS = {
    "text": ("copy copied from stdin;\n", "1\tone\t\\N\n-2\ta\\tb\\\\c\\\\.\t:x ::y 12:30\n"),
    "crlf": ("COPY public.copied (b, a)\r\n  FROM stdin ; -- rows\r\n", "one\t1\r\ntwo\t2\r\n"),
    "csv": (
        "copy copied from stdin with (format csv, header);\n",
        'A,B,C\n1,"x\n;\ny",\n2,"",":""q"\n',
    ),
    "old": ("copy copied (a, b) from stdin delimiter '|' null 'none';\n", "1|none\n2|a\\|b\n"),
    "none": ("copy copied from stdin;\n", ""),
    "where": ("copy copied from stdin (format csv) where a > 1;\n", "1,a,b\n2,c,d\n"),
}
AWKWARD = 'a\tb\\c\n"d", \'\\N \\. e|f:'
ONE_ROW = "copy copied (a, b) from stdin;\n:x\tx\n\\.\n"


@pytest.fixture(autouse=True)
def table(local):
    local.execute("drop table if exists copied", TABLE)
    yield lambda: local.execute("select * from copied order by a, b, c")
    local.execute("drop table copied")


def once(server, script: str, **changes):
    """Return a plan that runs the script once."""
    return plan_for(
        server.endpoint(), script, **times(1), **{"clients": 1, "threads": 1, **changes}
    )


def copied(result) -> Copied:
    """Return what all intervals together copied."""
    of_intervals = [asdict(interval.copied) for interval in result.all(Interval)]
    return Copied(**{name: sum(of[name] for of in of_intervals) for name in of_intervals[0]})


@pytest.mark.parametrize("mode", ["simple", "extended", "prepared"])
@pytest.mark.parametrize("script", FORMATS)
def test_the_rows_are_those_that_psql_copies(local, table, checked, tmp_path, *, script, mode, io):
    command, rows = FORMATS[script]
    path = tmp_path / "copy.sql"
    end = "\\.\r\n" if script == "crlf" else "\\.\n"
    text = f"{command}{rows}{end}"
    path.write_bytes(text.encode())
    place = ["-h", local.folder, "-p", str(local.port), "-U", "postgres", "postgres"]
    psql = [local.binaries / "psql", "-X", "-v", "ON_ERROR_STOP=1", "-f", path, *place]
    subprocess.run(psql, check=True, capture_output=True)
    expected = table()
    local.execute("truncate copied")
    result = checked(once(local, text, query_mode=mode, io=io))
    assert (result.counters.committed, result.done.failures) == (1, [])
    assert table() == expected
    assert copied(result).copy_in_rows == len(expected)
    assert copied(result).copy_in_bytes == len(rows)


@pytest.mark.parametrize("options", ["", " (format csv)", " (delimiter '|', null 'e')"])
@pytest.mark.parametrize("value", [AWKWARD, "", "plain", "e", "\\N", 7, -0.5, None])
def test_a_variable_arrives_as_it_is(local, table, checked, value, options):
    delimiter = {"": "\t", " (format csv)": ",", " (delimiter '|', null 'e')": "|"}[options]
    rows = f"copy copied (a, b, c) from stdin{options};\n:n{delimiter}:v{delimiter}[:v]\n\\.\n"
    unset = "" if value is not None else "select null::text as v \\gset\n"
    script = unset + rows
    variables = {"n": 5} | ({} if value is None else {"v": value})
    checked(once(local, script, variables=variables))
    ((number, found, _),) = table()
    assert number == 5
    assert found == (None if value is None else str(value))


@pytest.mark.parametrize("within_block", [False, True])
@pytest.mark.parametrize("rows", [1, 60_000])
def test_an_error_ends_the_copy_and_leaves_the_connection_in_step(
    local, table, checked, io, *, rows, within_block
):
    local.execute("create unique index on copied (a) where a < 10")
    begin, commit = ("begin;\n", "commit;\n") if within_block else ("", "")
    rest = "".join(f"{number + 100}\tx\ty\n" for number in range(rows))
    bad = {
        "22P02": f"copy copied from stdin;\nx\ty\tz\n{rest}\\.\n",
        "22P04": f"copy copied from stdin;\n1\ty\tz\tmore\n{rest}\\.\n",
        "23505": f"copy copied from stdin;\n1\ty\tz\n1\ty\tz\n{rest}\\.\n",
        "42P01": f"copy nowhere from stdin;\n{rest}\\.\n",
        "57014": f"set statement_timeout = '1ms';\ncopy copied from stdin;\n{rest * 20}\\.\n",
    }
    if rows == 1:
        del bad["57014"]
    scripts = [begin + script + commit for script in bad.values()]
    works = "set statement_timeout = 0;\nselect 1;"
    plan = plan_for(local.endpoint(), *scripts, works, io=io, **times(30))
    result = checked(plan)
    assert set(result.codes) <= set(bad)
    assert result.counters.ok > 0
    assert copied(result).copy_in_rows == 0
    assert table() == []


def test_a_copy_that_is_rolled_back_is_not_counted(local, table, checked):
    copy = "begin;\n" + ONE_ROW
    plan = plan_for(local.endpoint(), copy + "rollback;", variables={"x": 1}, **times(3))
    result = checked(plan)
    assert (result.counters.rolled_back, copied(result)) == (6, Copied())
    plan = plan_for(local.endpoint(), copy + ONE_ROW + "commit;", variables={"x": 1}, **times(3))
    result = checked(plan)
    assert result.counters.committed == 6
    assert copied(result) == Copied(copy_in_rows=12, copy_in_bytes=12 * 4)
    assert len(table()) == 12


@pytest.mark.parametrize("mode", ["simple", "extended", "prepared"])
def test_rows_that_come_are_counted(local, checked, io, mode):
    script = (
        "copy (select i, repeat('x', 100) from generate_series(1, :n) i) to stdout;\n"
        "copy (select 1) to stdout with (format binary);\n"
        "select 1;"
    )
    changes = {"variables": {"n": 9}, "query_mode": mode, "io": io}
    result = checked(plan_for(local.endpoint(), script, **changes, **times(20)))
    binary, committed = 21 + 2 + 4 + 4, result.counters.committed
    assert committed > 0
    assert copied(result) == Copied(
        copy_out_rows=10 * committed, copy_out_bytes=(9 * 103 + binary) * committed
    )


@pytest.fixture(scope="module")
def encrypted(certificates):
    server = Postgres(local_binaries()[0].folder, listen_addresses="127.0.0.1")
    server.encrypt(certificates, "server")
    yield server
    server.remove()


@pytest.mark.parametrize("name", ["local", "encrypted"])
def test_many_rows_arrive_whole_and_take_no_memory(request, checked, io, name):
    """A trigger makes the server slow, so that rows would pile up in an engine without bounds."""
    server = request.getfixturevalue(name)
    server.execute(
        "drop table if exists copied",
        TABLE,
        "create or replace function slow() returns trigger language plpgsql as "
        "$$begin if new.a % 5000 = 0 then perform pg_sleep(0.05); end if; return new; end$$",
        "create trigger slow before insert on copied for each row execute function slow()",
    )
    rows = 40_000
    body = "".join(f"{number}\t{'x' * 190}\t:x\n" for number in range(rows))
    clients = 8
    plan = plan_for(
        server.endpoint("127.0.0.1", tls=Tls(mode="require" if name == "encrypted" else "disable")),
        f"copy copied from stdin;\n{body}\\.\n",
        clients=clients,
        variables={"x": 7},
        io=io,
        **times(1),
    )
    grown: list[int] = []

    def watch(engine) -> None:
        status = Path(f"/proc/{engine.pid}/status")
        before = _resident_kib(status)
        while (now := _resident_kib(status)) is not None:
            grown.append(now - (before or 0))
            time.sleep(0.02)

    result = checked(plan, watch)
    assert copied(result).copy_in_rows == clients * rows
    assert copied(result).copy_in_bytes == clients * (len(body) - rows)
    sums = "select count(*), count(distinct a), sum(a), count(*) filter (where c = '7') from copied"
    total = clients * rows
    assert server.execute(sums) == [(total, rows, clients * rows * (rows - 1) // 2, total)]
    assert max(grown) < clients * len(body) / 1024 / 4, "rows pile up in the engine"


def _resident_kib(status: Path) -> int | None:
    """Resident memory of a process; None once it has ended."""
    try:
        found = re.search(r"VmRSS:\s+(\d+)", status.read_text())
    except (FileNotFoundError, ProcessLookupError):
        return None
    return int(found[1]) if found else None


SLOW = (
    "create or replace function slow() returns trigger language plpgsql as "
    "$$begin perform pg_sleep(0.02); return new; end$$",
    "create trigger slow before insert on copied for each row execute function slow()",
)


def test_the_end_of_the_run_ends_a_copy(local, table, checked, io):
    """Its rows are not all sent when the server is asked to cancel it."""
    local.execute(*SLOW)
    body = f"1\t{'x' * 2000}\ty\n" * 5000
    plan = plan_for(local.endpoint(), f"copy copied from stdin;\n{body}\\.\n", seconds=0.3, io=io)
    result = checked(plan)
    assert (result.counters.ok, result.counters.unfinished) == (0, 2)
    assert result.done.end == "complete"
    assert table() == []


# Each takes longer than the limit below, though no row takes longer than a fraction of it.
LONG = {
    "out": "copy (select pg_sleep(0.05), repeat('x', 9000) from generate_series(1, 50)) to stdout;",
    # Few rows fit into the socket's buffers, from which the server takes them in silence.
    "in": "copy copied from stdin;\n" + f"1\t{'x' * 30_000}\tc\n" * 120 + "\\.\n",
}


@pytest.mark.parametrize("direction", LONG)
def test_a_long_copy_is_no_stall(local, table, checked, io, direction):
    local.execute(*SLOW)
    result = checked(once(local, LONG[direction], stall_limit_ns=2 * SECOND, io=io))
    assert (result.done.end, result.counters.committed) == ("complete", 1)
    assert result.done.measured_ns > 2 * SECOND  # by its sleeps alone


def test_a_server_that_is_killed_during_a_copy(local, table, checked, io):
    local.execute(*SLOW)
    body = f"1\t{'x' * 2000}\ty\n" * 400
    copy = f"copy copied from stdin;\n{body}\\.\n"
    plan = plan_for(local.endpoint(), copy, "select 1;", io=io, seconds=60)
    result = checked(plan, dies_and_comes_back(local, sessions=2))
    assert {kind for kind, _ in result.codes.values()} == {"connection"}
    assert result.counters.ok > 0


def test_only_scripts_of_sql_copy(local, mariadb, checked):
    lua = """
function event()
  local con = sysbench.sql.driver():connect()
  local ok, why = pcall(con.query, con, "COPY copied FROM STDIN")
  con:query("SELECT 1")
  con:query("COPY copied TO STDOUT")
end
"""
    plan = plan_for(local.endpoint(), lua, lua=Lua(path="mine.lua"), **times(1))
    (failure,) = checked(plan).done.failures
    assert "s0:6: " in failure.message
    assert "COPY from or to the client works in pgbench-style scripts" in failure.message
    (problem,) = check_plan(plan_for(mariadb.endpoint(), ONE_ROW, variables={"x": 1}))
    assert problem.message == "COPY from or to the client exists in PostgreSQL's protocol only"
    file = "load data local infile '/etc/passwd' into table t"
    (failure,) = checked(
        once(mariadb, f"create temporary table t (a text);\n{file};")
    ).done.failures
    assert "LOAD DATA LOCAL" in failure.message or "local infile" in failure.message


def test_a_copy_of_the_servers_own_files_is_a_plain_statement(local, table, checked):
    script = "copy copied from program 'printf \"1\\tx\\ty\\n\"';\nselect 1;"
    result = checked(once(local, script))
    assert (result.counters.committed, copied(result)) == (1, Copied())
    assert table() == [(1, "x", "y")]


def test_rates_stand_beside_throughput_everywhere(local, tmp_path, monkeypatch):
    monkeypatch.setenv("DBDYNO_HOME", str(tmp_path / "home"))
    script = tmp_path / "ingest.sql"
    script.write_text("\\set x random(1, 9)\n" + ONE_ROW + "copy (select 'abc') to stdout;\n")
    options = RunOptions(
        target=f"postgresql://postgres@127.0.0.1:{local.port}/postgres",
        clients=1,
        transactions=50,
        warmup_ns=0,
        telemetry="off",
    )
    recordings = [
        run([WeightedName(str(script), 1)], options, engine_tools(), Observer()) for _ in range(2)
    ]
    record = recordings[0].record
    assert (record.copy_in.rows, record.copy_in.bytes) == (50, 200)
    assert (record.copy_out.rows, record.copy_out.bytes) == (50, 200)
    assert record.copy_in.rows_per_s == pytest.approx(record.throughput_tps.value)
    assert record.copy_in.bytes_per_s == pytest.approx(4 * record.throughput_tps.value)
    text = render_summary(record, recordings[0].plan)
    assert re.search(
        r"^copy in {7}[\d .]+ rows/s, [\d .]+ \w+/s \(50 rows, 200 B in all\)$", text, re.M
    )
    assert "copy out" in text
    page = render_html(run_page(recordings[0]))
    assert len(re.findall(r"50 rows, 200\sB in all", page)) == 2
    found = sql("select distinct copy_in_rows_per_s = tps, copy_out_bytes_per_s > tps from runs")
    assert found.fetchall() == [(True, True)]
    found = sql("select sum(copy_in_rows), sum(copy_out_bytes) from intervals")
    assert found.fetchall() == [(100, 400)]
    compared = compare(*([recording.record] for recording in recordings))
    titles = [metric.title for metric in compared.metrics]
    assert titles[:3] == ["Throughput", "Rows copied to the server", "Bytes copied to the server"]
