"""Isolation levels on real servers: what they let through, what they refuse, what is retried."""

from collections.abc import Iterator

import pytest
from psycopg.conninfo import make_conninfo

from dbdyno.databases.postgresql.server.binaries import local_binaries
from dbdyno.errors import DbdynoError
from dbdyno.formatting import count
from dbdyno.report.pages.run import render_summary, run_page
from dbdyno.report.render_html import render_html
from dbdyno.report.render_text import render_text
from dbdyno.run.options.grammar import WeightedName
from dbdyno.run.options.run_options import RunOptions
from dbdyno.run.tools import engine_tools
from dbdyno.servers.base import Server
from tests.engine.postgres import Postgres
from tests.run.poolers import pooler
from tests.run.test_runner import Observer
from tests.support.running import run

pytestmark = pytest.mark.usefixtures("home")

SECOND_NS = 1_000_000_000

# Each client has a row of its own. Whoever withdraws has seen that all rows together hold 100;
# whoever deposits, that they do not. One after the other, the sum is always 0 or 100.
WITHDRAW = """begin;
select sum(n) as total from account \\gset
insert into seen (total) values (:total);
\\sleep 1 ms
\\if :total >= 100
update account set n = n - 100 where id = :client_id;
\\endif
commit;
"""
DEPOSIT = WITHDRAW.replace(">=", "<").replace("n - 100", "n + 100")
WRONG = "select count(*) from seen where total not in (0, 100)"


def measured(target: str, *items: str, **changes):
    options = RunOptions(
        **{
            "target": target,
            "clients": 4,
            "duration_ns": 2 * SECOND_NS,
            "warmup_ns": 0,
            "telemetry": "off",
            "disturbance_max": 1.0,
            **changes,
        }
    )
    return run([WeightedName(item, 1) for item in items], options, engine_tools(), Observer())


@pytest.fixture(params=["postgres_server", "mariadb_server"])
def either_server(request: pytest.FixtureRequest) -> Server:
    server: Server = request.getfixturevalue(request.param)
    return server


@pytest.fixture
def accounts(
    either_server: Server, new_database, tmp_path, monkeypatch
) -> Iterator[tuple[Server, list[str]]]:
    """A database with the rows, and the scripts."""
    server = new_database(either_server)
    with server.connect() as control:
        control.execute("create table account (id int primary key, n int not null)")
        control.execute("insert into account values (0, 100), (1, 0), (2, 0), (3, 0)")
        control.execute("create table seen (total int not null)")
    scripts = {"withdraw.sql": WITHDRAW, "deposit.sql": DEPOSIT}
    for name, text in scripts.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return server, [*scripts]


def in_one_line(text: str) -> str:
    return " ".join(text.split())


def wrong_sums(server: Server) -> int:
    with server.connect() as control:
        return int(control.execute(WRONG).fetchone()[0])


def test_write_skew_gets_through_at_repeatable_read(accounts):
    server, scripts = accounts
    record = measured(server.conninfo, *scripts, isolation="repeatable-read").record
    assert record.valid, record.invalid_reasons
    assert wrong_sums(server) > 0
    assert (record.isolation.level, record.isolation.is_requested) == ("repeatable-read", True)


def test_serializable_keeps_the_invariant_and_failures_are_counted_by_script(accounts):
    server, scripts = accounts
    found = measured(server.conninfo, *scripts, isolation="serializable")
    record = found.record
    assert (record.valid, record.failures) == (True, []), record.invalid_reasons
    assert wrong_sums(server) == 0
    assert record.transactions.retried > 0
    kinds = {"postgresql": "serialization", "mysql": "deadlock"}
    (again,) = record.tried_again
    assert again.failure_class == kinds[server.resolved.protocol]
    assert set(again.by_script) == set(scripts)
    assert sum(again.by_script.values()) == again.count
    for text in (
        render_summary(record, found.plan, 400),
        render_text(run_page(found), 400),
        render_html(run_page(found)),
    ):
        shown = in_one_line(text)
        assert "isolation level serializable" in shown
        for name in scripts:
            assert in_one_line(f"{name} {count(again.by_script[name])}") in shown


def test_without_the_option_the_servers_own_level_is_recorded(accounts):
    server, scripts = accounts
    found = measured(server.conninfo, *scripts, duration_ns=None, transactions=1)
    defaults = {"postgresql": "read-committed", "mysql": "repeatable-read"}
    isolation = found.record.isolation
    assert isolation.level == defaults[server.resolved.protocol]
    assert (isolation.is_requested, isolation.access_mode) == (False, "read write")
    assert found.plan.retry.tries_max == 1


def test_transactions_of_a_workload_that_only_reads_are_read_only(either_server, new_database):
    server = new_database(either_server)
    short = {"isolation": "serializable", "duration_ns": None, "transactions": 5}
    for workload, mode in (("select-only", "read only"), ("simple-update", "read write")):
        record = measured(server.conninfo, workload, **short).record
        assert (record.valid, record.failures) == (True, []), record.invalid_reasons
        assert record.isolation.access_mode == mode


def test_a_level_that_the_database_lacks_is_refused_before_a_server_starts(tmp_path):
    script = tmp_path / "one.sql"
    script.write_text("select 1;\n")
    with pytest.raises(DbdynoError, match="PostgreSQL has no isolation level read-unc") as caught:
        measured(None, str(script), server="postgres", isolation="read-uncommitted")
    assert "It has read-committed, repeatable-read, serializable." in caught.value.hint


@pytest.fixture(scope="module")
def pooled() -> Iterator[Postgres]:
    server = Postgres(local_binaries()[0].folder)
    try:
        yield server
    finally:
        server.remove()


@pytest.mark.parametrize(
    ("ignored", "why"),
    [
        ("", "unsupported startup parameter"),
        ("options,default_transaction_isolation", "the server says read-committed"),
    ],
)
def test_a_pooler_that_keeps_the_level_from_the_server_is_named(pooled, tmp_path, ignored, why):
    script = tmp_path / "one.sql"
    script.write_text("select 1;\n")
    with (
        pooler(pooled.folder, pooled.port, sessions=2, ignored=ignored) as target,
        pytest.raises(DbdynoError, match=f"cannot be opened at serializable: .*{why}") as caught,
    ):
        measured(target, str(script), query_mode="simple", isolation="serializable")
    assert "alter role NAME set default_transaction_isolation" in caught.value.hint


def test_a_level_of_the_role_is_found(pooled, tmp_path):
    url = make_conninfo(host=str(pooled.folder), port=pooled.port, user="postgres")
    script = tmp_path / "one.sql"
    script.write_text("select 1;\n")
    with pooled.connect() as connection:
        connection.execute("create role strict login superuser")
        connection.execute("alter role strict set default_transaction_isolation = serializable")
    record = measured(
        make_conninfo(url, user="strict", dbname="postgres"),
        str(script),
        transactions=1,
        duration_ns=None,
    ).record
    assert (record.isolation.level, record.isolation.is_requested) == ("serializable", False)
