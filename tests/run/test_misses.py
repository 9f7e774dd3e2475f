"""Loads that find no row, on real servers: the runs say so, and honest ones are left alone."""

import pytest

from dbdyno.run.options.grammar import WeightedName
from dbdyno.run.options.run_options import SECOND_NS, RunOptions
from dbdyno.run.tools import engine_tools
from dbdyno.servers.base import Server
from tests.run.test_runner import Observer
from tests.support.running import run

pytestmark = pytest.mark.usefixtures("home")

# The scale has 100 000 accounts, of which every 200th is left.
MOST_ARE_MISSING = "delete from pgbench_accounts where aid % 200 <> 0"
ON_A_FIFTH = "\\set aid random(1, 100000)\n"
LOOKUP = f"{ON_A_FIFTH}select abalance from pgbench_accounts where aid = :aid;\n"
HONEST = f"""{ON_A_FIFTH}
\\set low 200001
delete from pgbench_accounts where aid = :aid;
select count(*) from pgbench_accounts where aid = :aid;
select aid from pgbench_accounts where aid between :low and :low + 10;
select aid from pgbench_accounts where bid = :low order by aid limit 1;
select aid from pgbench_accounts where bid = :low limit 1 for update skip locked;
"""
ALSO_HONEST = "insert into pgbench_branches (bid) values (1) on conflict do nothing;\n"


LONG_NS = 6 * SECOND_NS
"""Of a run whose table is emptied: on a busy host it takes seconds until the rows are gone."""


class Emptying(Observer):
    """Empties a table once a fifth of such a run has been measured."""

    def __init__(self, server: Server, *statements: str) -> None:
        super().__init__()
        self._server, self._statements = server, statements
        self._intervals = 0

    def interval(self, interval) -> None:
        super().interval(interval)
        self._intervals += 1
        if self._intervals == 12:
            execute(self._server, *self._statements)


def execute(server: Server, *statements: str) -> None:
    with server.connect() as control:
        for statement in statements:
            control.execute(statement)


def measured(server: Server, *items: str, observer: Observer | None = None, **options):
    named = [WeightedName(item, 1) for item in items]
    given = {
        "target": server.conninfo,
        "clients": 2,
        "rate_tps": 500.0,
        "duration_ns": 2 * SECOND_NS,
        "interval_ns": SECOND_NS // 10,
        "warmup_ns": 0,
        "telemetry": "basic",
        "disturbance_max": 1.0,
        **options,
    }
    return run(named, RunOptions(**given), engine_tools(), observer or Observer()).record


def found_none(sentences):
    return [sentence for sentence in sentences if "found" in sentence and " row" in sentence]


@pytest.fixture(params=["postgresql", "mariadb"])
def server(request, database, mariadb_server, new_database) -> Server:
    return database if request.param == "postgresql" else new_database(mariadb_server)


@pytest.mark.parametrize("mode", ["simple", "prepared"])
@pytest.mark.parametrize("workload", ["select-only", "simple-update"])
def test_a_workload_whose_table_is_emptied_is_not_valid(server, workload, mode):
    measured(server, "select-only", duration_ns=SECOND_NS // 5)
    emptying = Emptying(server, "delete from pgbench_accounts")
    record = measured(server, workload, observer=emptying, query_mode=mode, duration_ns=LONG_NS)
    assert not record.valid
    (reason,) = found_none(record.invalid_reasons)
    assert f"executions of {workload}:" in reason
    assert found_none(record.doubts) == []


def test_sysbenchs_tables_are_looked_up_likewise(server):
    sizes = {"define": (("table_size", "1000"),)}
    measured(server, "oltp_point_select", duration_ns=SECOND_NS // 5, **sizes)
    emptying = Emptying(server, "delete from sbtest1")
    record = measured(server, "oltp_read_only", observer=emptying, duration_ns=LONG_NS, **sizes)
    (reason,) = found_none(record.invalid_reasons)
    assert "SELECT c FROM sbtest1 WHERE id=:point" in reason
    assert "and 9 other statements likewise" in reason


def test_deletes_and_inserts_of_sysbench_are_no_misses(server):
    """Of ten rows each is gone for a moment most of the time."""
    sizes = {"define": (("table_size", "10"),), "clients": 4, "rate_tps": None}
    record = measured(server, "oltp_write_only", failures_max=1.0, **sizes)
    statements = {statement.sql: statement for statement in record.statements}
    assert any(one.rows and one.executions_without_rows is not None for one in statements.values())
    assert found_none([*record.invalid_reasons, *record.doubts]) == []


def test_own_lookups_of_missing_keys_are_doubted(server, tmp_path):
    measured(server, "select-only", duration_ns=SECOND_NS // 5)
    script = tmp_path / "mine.sql"
    script.write_text(LOOKUP)
    assert found_none(measured(server, str(script)).doubts) == []
    execute(server, MOST_ARE_MISSING)
    (doubt,) = found_none(measured(server, str(script)).doubts)
    assert "executions of " in doubt
    assert "mine.sql:2 found no row by aid, a unique key" in doubt
    script.write_text(LOOKUP.replace("(1, 100000)", "(200001, 300000)"))
    record = measured(server, str(script), telemetry="off")
    assert found_none(record.invalid_reasons) == []
    (doubt,) = found_none(record.doubts)
    assert "mine.sql:2 found a row" in doubt
    (statement,) = record.statements
    assert (statement.rows, statement.executions_without_rows) == (0, statement.count)


def test_an_own_script_whose_table_is_emptied_is_doubted(database, tmp_path):
    measured(database, "select-only", duration_ns=SECOND_NS // 5)
    script = tmp_path / "mine.sql"
    script.write_text(f"\\startpipeline\n{LOOKUP}\\endpipeline\n")
    emptying = Emptying(database, "truncate pgbench_accounts")
    record = measured(
        database, str(script), observer=emptying, telemetry="off", duration_ns=LONG_NS
    )
    (doubt,) = found_none(record.doubts)
    assert "mine.sql:3 found no row: at first most did, at the end hardly any" in doubt


def test_what_may_find_nothing_is_not_doubted(server, tmp_path):
    measured(server, "select-only", duration_ns=SECOND_NS // 5)
    execute(server, "delete from pgbench_accounts")
    script = tmp_path / "mine.sql"
    is_postgresql = "host=" in server.conninfo or server.conninfo.startswith("postgres")
    script.write_text(HONEST + ALSO_HONEST * is_postgresql)
    record = measured(server, str(script))
    assert record.transactions.ok > 0
    assert found_none([*record.invalid_reasons, *record.doubts]) == []


def test_scripts_in_lua_are_judged_like_others(mariadb_server, new_database, tmp_path):
    server = new_database(mariadb_server)
    execute(server, "create table hits (n int primary key)")
    script = tmp_path / "mine.lua"
    script.write_text(
        "function thread_init() con = sysbench.sql.driver():connect() end\n"
        "function event() con:query('SELECT n FROM hits WHERE n = ' .. math.random(9)) end\n"
    )
    (doubt,) = found_none(measured(server, str(script)).doubts)
    assert "mine.lua found a row (SELECT n FROM hits WHERE n = ?)" in doubt
