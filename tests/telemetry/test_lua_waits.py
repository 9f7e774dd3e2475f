"""Statements that a script generates while it runs are recognized by their texts."""

from pathlib import Path

import numpy as np
import pytest

from dbdyno.explain.explain import explain
from dbdyno.explain.statements.statements import plans_of, statements_of, table_of
from dbdyno.model.tables import rows
from dbdyno.run.options.run_options import SECOND_NS
from dbdyno.servers.base import Server
from tests.telemetry.watched import Observer, measure, seen

pytestmark = pytest.mark.usefixtures("home", "patient", "watchful")

PREPARED = """
function thread_init()
  local con = sysbench.sql.driver():connect()
  local kind = sysbench.sql.type
  look = con:prepare("select n from counter where id = ?")
  count = con:prepare("update counter set n = n + 1 where id = ?")
  for _, stmt in ipairs {look, count} do
    local id = stmt:bind_create(kind.INT)
    stmt:bind_param(id)
    id:set(1)
  end
end
function event() look:execute() count:execute() end
"""
TEXT = """
function thread_init() con = sysbench.sql.driver():connect() end
function event()
  con:query("select n from counter where id = " .. sysbench.rand.uniform(1, 1))
  con:query("update counter set n = n + 1 where id = 1")
end
"""
CONVOY = """
function thread_init() con = sysbench.sql.driver():connect() end
function event()
  con:query("begin")
  con:query("update counter set n = n + 1 where id = 1")
  for _ = 1, 5 do con:query("select n from counter where id = 1") end
  con:query("commit")
end
"""
LOOK, COUNT = "select n from counter where id = ?", "update counter set n = n + ? where id = ?"


@pytest.fixture(params=["postgres_server", "mariadb_server"])
def counting(request: pytest.FixtureRequest, new_database) -> Server:
    """A database with one row, which all clients want, on each kind of server in turn."""
    server = new_database(request.getfixturevalue(request.param))
    with server.connect() as control:
        control.execute("create table counter (id int primary key, n int)")
        control.execute("insert into counter values (1, 0)")
    return server


@pytest.mark.parametrize("script", [PREPARED, TEXT], ids=["prepared", "text"])
def test_clients_that_wait_for_a_row_are_known_by_their_statement(
    counting: Server, script: str, tmp_path: Path
):
    holder = counting.connect()
    try:

        def hold() -> None:
            holder.execute("begin")
            holder.execute("select n from counter where id = 1 for update")

        path = tmp_path / "count.lua"
        path.write_text(script, encoding="utf-8")
        watched = {"telemetry": "full", "stall_limit_ns": 5 * SECOND_NS}
        recording = measure(counting, str(path), Observer(hold), **watched)
    finally:
        holder.close()

    numbers = {
        sql: number
        for number, sql in rows(recording.statement_texts.statement, recording.statement_texts.sql)
    }
    waits = {
        sql: seen(recording, "waits", statement=number, wait_type="Lock")
        for sql, number in numbers.items()
    }
    assert waits[COUNT] > 0
    # The server reports text and wait of a session one after the other: it may have gone on.
    assert waits[LOOK] < 0.1 * waits[COUNT]
    blocking = recording.columns["blocking"]
    held = blocking["root_who"] == "foreign"
    assert np.mean(blocking["waiter"][held] == numbers[COUNT]) > 0.9


@pytest.mark.parametrize("script", [PREPARED, TEXT], ids=["prepared", "text"])
def test_tables_and_plans_of_such_statements_are_among_the_facts(
    counting: Server, script: str, tmp_path: Path
):
    path = tmp_path / "count.lua"
    path.write_text(script, encoding="utf-8")
    case = measure(counting, str(path), duration_ns=SECOND_NS // 2)
    assert case.before is not None
    assert case.after is not None
    assert [table.name for table in case.after.tables] == ["counter"]
    assert table_of(case.after, "counter")
    for statement in statements_of(case):
        plans = plans_of(case.after, statement.number)
        assert {node[1] for plan in plans.values() for node in plan.nodes} == {"counter"}


def test_the_explanation_of_a_convoy_names_the_statement(counting: Server, tmp_path: Path):
    path = tmp_path / "convoy.lua"
    path.write_text(CONVOY, encoding="utf-8")
    recording = measure(counting, str(path), clients=16, telemetry="full")
    findings = explain(recording).findings
    (convoy,) = (finding for finding in findings if finding.id == "row_lock_convoy")
    assert COUNT in f"{convoy.summary} {convoy.seen}"
