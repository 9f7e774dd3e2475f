"""Telemetry of MariaDB: sources, sessions, locks and facts from a real server."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import pytest
from msgspec import structs

from dbdyno.databases.connection import Connection
from dbdyno.databases.mysql.driver.login import login_of
from dbdyno.databases.mysql.driver.url import login_url
from dbdyno.databases.mysql.telemetry import TELEMETRY
from dbdyno.databases.mysql.telemetry.facts.plans import compared, converted
from dbdyno.databases.mysql.telemetry.redo import wal_position
from dbdyno.databases.mysql.telemetry.server_context import ServerContext
from dbdyno.databases.mysql.telemetry.transactions import transaction_ages_s
from dbdyno.databases.telemetry import ScriptStatement
from dbdyno.host.describe import ROOT
from dbdyno.host.processes import running_ns
from dbdyno.model.source import Source
from dbdyno.servers.base import Server
from dbdyno.servers.private import start_private
from dbdyno.servers.spec import ServerSpec
from dbdyno.telemetry.blocking import find_waits
from dbdyno.telemetry.differences import finite_numbers
from tests.conftest import SMALL_INNODB
from tests.databases.mysql.mariadb import (
    TABLE,
    UPDATE,
    later_look,
    queue_for,
    wait_for_fresh_transaction_list,
)
from tests.support.patience import eventually

LOOKUP = ScriptStatement(0, "select v from `t` where id = :id")
SCAN = ScriptStatement(1, "update t set v = 1 where filler = :text")
RANGE = ScriptStatement(2, "select count(*) from t where id between :low and :high")
RIGHTS = "grant process on *.* to it"
# Telemetry gives up a query after a second. Tests want its answer, even if the host stalled for
# that long.
PATIENT = "set session max_statement_time = 60"


@pytest.fixture
def watched(mariadb_server: Server, new_database: Callable[[Server], Server]) -> Server:
    database = new_database(mariadb_server)
    with database.connect() as connection:
        for statement in TABLE.split(";"):
            connection.execute(statement)
    return database


@pytest.fixture
def watcher(watched: Server) -> Iterator[Connection]:
    with watched.connect() as connection:
        TELEMETRY.begin(connection)
        connection.execute(PATIENT)
        yield connection


@pytest.fixture
def plain_watcher(watched: Server) -> Iterator[Connection]:
    """The same, with a user that may use tables, and nothing else."""
    with watched.connect() as connection:
        connection.execute("create user plain")
        (name,) = connection.execute("select database()").fetchone()
        connection.execute(f"grant all on `{name}`.* to plain")
        try:
            with connect_as(watched, "plain") as plain:
                TELEMETRY.begin(plain)
                plain.execute(PATIENT)
                yield plain
        finally:
            connection.execute("drop user plain")


def test_the_kernel_knows_the_thread_that_serves_us(watcher: Connection):
    task = TELEMETRY.task(watcher)
    assert task is not None
    before_ns = running_ns(ROOT, task)
    watcher.execute("select benchmark(3000000, md5('x'))")
    assert running_ns(ROOT, task) - before_ns > 10_000_000


def test_a_pooled_thread_serves_others_too_and_is_not_reported():
    spec = ServerSpec("mariadb", settings={**SMALL_INNODB, "thread_handling": "pool-of-threads"})
    with start_private(spec, connections=4) as server, server.connect() as watcher:
        assert TELEMETRY.task(watcher) is None


def connect_as(server: Server, user: str) -> Connection:
    login = structs.replace(login_of(server.conninfo), user=user, password="")
    return replace(server, conninfo=login_url(login)).connect()


def found(connection: Connection) -> tuple[dict[str, Source[Connection]], dict[str, str]]:
    given, missing = TELEMETRY.sources(connection, [LOOKUP])
    return {source.name: source for source in given}, {one.source: one.reason for one in missing}


def read(connection: Connection, source: str) -> dict[str, float]:
    """Return the numbers of a source with one row."""
    reading, odd = finite_numbers(found(connection)[0][source].read(connection))
    assert not odd
    return dict(reading[""])


def test_what_there_is_and_what_not(watcher: Connection):
    given, missing = found(watcher)
    assert given.keys() == {
        "global_status",
        "wal_position",
        "innodb_metrics",
        "sizes",
        "replication",
        "sessions",
    }
    assert missing == {"file_io": "performance_schema is off (it is set when the server starts)"}


def test_a_user_without_rights_sees_counters_and_gets_the_remedy(plain_watcher: Connection):
    given, missing = found(plain_watcher)
    assert given.keys() == {"global_status", "wal_position", "sessions"}
    assert missing["sessions"].endswith(f"nor transactions: {RIGHTS}")
    assert missing["innodb_metrics"].endswith(f"for this operation: {RIGHTS}")
    assert missing["replication"]  # for which PROCESS would not help
    assert RIGHTS not in missing["replication"]
    assert "oldest_transaction_s" not in read(plain_watcher, "sessions")
    assert TELEMETRY.sample_with_locks(plain_watcher)() == ([], [])


def test_counters_count_what_is_done(watcher: Connection, watched: Server):
    before, log = read(watcher, "global_status"), read(watcher, "wal_position")
    with watched.connect() as worker:
        for _ in range(3):
            worker.execute(UPDATE)
    after = read(watcher, "global_status")
    assert after["Handler_update"] - before["Handler_update"] == 3
    assert "Innodb_history_list_length" in after
    grown = read(watcher, "wal_position")
    assert grown["bytes"] > log["bytes"]
    assert 0 <= grown["age_bytes"] < grown["age_max_bytes"]


def test_levels_are_distinguished_from_counters(watcher: Connection):
    given, _ = found(watcher)
    for source in given.values():
        values = set(source.read(watcher).get("", {}))
        assert source.levels <= values | {"bytes", "replay_lag_s"}, source.name
    assert "Threads_connected" in given["global_status"].levels
    assert "Innodb_data_fsyncs" not in given["global_status"].levels


def test_sizes_are_of_the_tables_that_statements_name(watcher: Connection):
    source = found(watcher)[0]["sizes"]
    assert source.read(watcher)["t"]["bytes"] >= 4 * 16_384


def sums_now(watcher: Connection) -> dict[str, float]:
    wait_for_fresh_transaction_list()
    return read(watcher, "sessions")


def test_the_age_of_transactions(watcher: Connection, watched: Server):
    with watched.connect() as idle:
        idle.execute("start transaction with consistent snapshot")
        # A session receives its answer a moment before it is reported as idle.
        sums = eventually(lambda: sums_now(watcher), lambda now: now["idle_in_transaction"] == 1)
        idle.execute("rollback")
    assert 0 <= sums["oldest_idle_in_transaction_s"] <= sums["oldest_transaction_s"] < 60


class Recorded:
    """Returns what a MySQL 8.0.33 answered: tests have no MySQL (see mysql_at_hand)."""

    closed = False

    def __init__(self, rows: Sequence[Sequence[object]]) -> None:
        self._rows = rows

    def execute(self, _query: str, _parameters: object = None) -> "Recorded":
        return self

    def fetchall(self) -> Sequence[Sequence[object]]:
        return self._rows


MYSQL = ServerContext(
    is_mariadb=False,
    user="root@localhost",
    database="test",
    sees_all=True,
    schema_lack="",
    has_waits=False,
    has_definitions=False,
)


def test_mysql_lists_transactions_that_only_read():
    assert transaction_ages_s(Recorded([(727, 2), (731, 0)]), MYSQL) == {727: 2, 731: 0}


def test_mysqls_redo_log_is_full_before_its_files_are():
    values = {
        "current_lsn": "473180108",
        "checkpoint_lsn": "466903500",
        "capacity_resized": 8 << 20,
    }
    rows = [(f"Innodb_redo_log_{name}", value) for name, value in values.items()]
    numbers = wal_position(Recorded(rows), MYSQL).read(Recorded(rows))[""]
    assert numbers["age_bytes"] / numbers["age_max_bytes"] == pytest.approx(0.84, abs=0.005)


def states_now(watcher: Connection) -> dict[int, str]:
    return {pid: its.state for its in later_look(watcher)[0] for pid in its.pids}


def test_sessions_and_their_states(watcher: Connection, watched: Server):
    with watched.connect() as idle, watched.connect() as holder:
        holder.execute("begin")
        holder.execute(UPDATE)
        numbers = [TELEMETRY.pid(session) for session in (idle, holder, watcher)]
        # A session receives its answer a moment before it is reported as idle.
        eventually(
            lambda: [states_now(watcher).get(number) for number in numbers],
            lambda states: states == ["idle", "idle in transaction", None],
        )
        holder.execute("rollback")


def test_sessions_have_their_threads(watcher: Connection, watched: Server):
    with watched.connect() as idle:
        number = TELEMETRY.pid(idle)
        tasks = {
            pid: task
            for its in later_look(watcher)[0]
            for pid, task in zip(its.pids, its.tasks, strict=True)
        }
        assert tasks[number] > 0


def test_a_queue_for_a_row(watched: Server, watcher: Connection):
    with queue_for(watched, watcher, UPDATE, UPDATE, UPDATE) as queue:
        lock = queue.waited_for(queue.others[0])
        assert sorted(lock.pids) == sorted(queue.others)
        assert (lock.kind, lock.mode, lock.relation, lock.row) == (
            "record",
            "X",
            "t",
            "PRIMARY (1)",
        )
        assert lock.waited_s == [None, None]
        assert queue.holders(lock) == {queue.holder}
        texts = {its.text for its in queue.sessions if its.wait_type == "Lock"}
        assert texts == {UPDATE}
        waits = find_waits(queue.locks, TELEMETRY.conflicts)
        assert {(wait.blocker, wait.root) for wait in waits} == {(queue.holder, queue.holder)}


def test_a_table_keeps_its_name_where_double_quotes_quote_names(
    watched: Server, watcher: Connection
):
    watcher.execute("set session sql_mode = 'ansi_quotes'")
    with queue_for(watched, watcher, UPDATE, UPDATE) as queue:
        assert queue.waited_for(queue.others[0]).relation == "t"


def test_an_insert_waits_for_a_gap(watched: Server, watcher: Connection):
    gap = "select * from t where id = 4 for update"
    with queue_for(watched, watcher, gap, "insert into t (id) values (3)") as queue:
        lock = queue.waited_for(queue.others[0])
        assert lock.mode == "X,GAP,INSERT_INTENTION"
        assert queue.holders(lock) == {queue.holder}


def test_a_queue_for_a_table_has_no_reported_holder(watched: Server, watcher: Connection):
    with queue_for(watched, watcher, UPDATE, "alter table t add column w int") as queue:
        (its,) = [one for one in queue.sessions if queue.others[0] in one.pids]
        assert (its.wait_type, its.wait_event) == ("Lock", "table metadata")
        assert queue.locks == []


@pytest.mark.parametrize(
    ("held", "wanted", "excludes"),
    [
        ("X", "X", True),
        ("S", "S", False),
        ("S", "X", True),
        ("IX", "IS", False),
        ("IX", "IX", False),
        ("IX", "S", True),
        ("X,GAP", "X", False),
        ("X,GAP", "X,GAP,INSERT_INTENTION", True),
        ("S,GAP", "X,GAP,INSERT_INTENTION", True),
        ("X", "X,GAP,INSERT_INTENTION", True),
        ("X,REC_NOT_GAP", "X,GAP,INSERT_INTENTION", False),
        ("X,GAP,INSERT_INTENTION", "X,GAP,INSERT_INTENTION", False),
        ("SHARED_WRITE", "EXCLUSIVE", True),
        ("SHARED_READ", "SHARED_WRITE", False),
        ("SHARED_WRITE", "SHARED_NO_WRITE", True),
    ],
)
def test_modes_of_locks(held: str, wanted: str, excludes: bool):
    assert TELEMETRY.conflicts(held, wanted) is excludes


def test_facts_of_tables_and_settings(watcher: Connection):
    facts = TELEMETRY.facts(watcher, [LOOKUP])
    (table,) = facts.tables
    assert (table.name, table.columns) == ("t", ("id", "v", "filler"))
    assert {(one.name, one.columns, one.is_primary) for one in table.indexes} == {
        ("PRIMARY", ("id",), True),
        ("t_v", ("v",), False),
    }
    assert facts.settings["innodb_buffer_pool_size"] == str(64 << 20)
    assert facts.details["units"]["innodb_buffer_pool_size"] == "B"
    assert facts.details["waits_are_told"] is False


def test_plans_show_how_tables_are_read(watcher: Connection):
    plans = TELEMETRY.facts(watcher, [LOOKUP, SCAN, RANGE]).plans
    values = {plan.statement: plan.nodes[0][:2] for plan in plans}
    assert values[0] == ("const", "t")
    assert values[1] in {("ALL", "t"), ("index", "t")}
    assert values.keys() == {0, 1, 2}
    assert watcher.execute("select count(*) from t where v <> 0").fetchone() == (0,)


@pytest.mark.parametrize("table", ["t as one", "`t` `one`", "t one"])
def test_a_plan_names_the_table_and_not_its_alias(watcher: Connection, table: str):
    statement = ScriptStatement(0, f"select one.id from {table} where one.filler = :text")
    (plan,) = TELEMETRY.facts(watcher, [statement]).plans
    assert plan.nodes[0][:2] == ("ALL", "t")


def test_a_table_behind_views_is_known_with_what_it_is_searched_by(
    watched: Server, watcher: Connection
):
    with watched.connect() as worker:
        worker.execute("create view near as select id, v as height, filler from t as base")
        worker.execute("create view far as select * from near where filler <> 'a'")
    statement = ScriptStatement(0, "select id from far where filler = :text")
    facts = TELEMETRY.facts(watcher, [statement])
    (plan,) = facts.plans
    assert [table.name for table in facts.tables] == ["t"]
    assert plan.nodes[0][:2] == ("ALL", "t")
    assert plan.compared == (("t", "filler"),)


@pytest.mark.parametrize(
    ("condition", "columns"),
    [
        ("p.`id` = 5 and p.`value` = 0", ["id", "value"]),
        ("(`shop`.`p`.`id` = 5) and (`shop`.`p`.`a name` = (@`u`))", ["id", "a name"]),
        ("p.code in ('5','2') and p.due = DATE'2020-02-02' and p.id > 2", ["code", "due"]),
        ("p.code = 'it\\'s or p.id = 5'", ["code"]),
        ("p.`id` = other.`id`", []),
        ("p.`id` = 5 or p.code = '6'", []),
    ],
)
def test_what_a_read_of_a_whole_table_compares_with_values(condition: str, columns: list[str]):
    table = {"table_name": "p", "access_type": "ALL", "attached_condition": condition}
    plan = {"query_block": {"nested_loop": [{"table": table}]}}
    assert [*compared(plan)] == [("p", column) for column in columns]
    assert [*compared({"table": {**table, "access_type": "ref"}})] == []


@pytest.mark.parametrize("numbers", [frozenset({"code"}), frozenset()])
def test_an_index_on_text_does_not_serve_for_a_number(
    watched: Server, watcher: Connection, numbers: frozenset[str]
):
    """The server compares both as floating-point numbers, and says so."""
    with watched.connect() as worker:
        worker.execute("create or replace table texts (id int, code varchar(9), key (code))")
        worker.execute("insert into texts select seq, seq from seq_1_to_1000")
    statement = ScriptStatement(0, "select id from texts where code = :code;", numbers)
    (plan,) = TELEMETRY.facts(watcher, [statement]).plans
    assert plan.converted == ((("texts", "code"),) if numbers else ())
    assert (plan.nodes[0][0] == "ref") == (not numbers)


def test_columns_that_a_comparison_converts_in_the_words_of_each_server():
    mariadb = (
        'Cannot use key `c` part[0] for lookup: `db`.`t`.`code` of type `varchar` = "5" of type '
        "`bigint`"
    )
    second = mariadb.replace("part[0]", "part[1]")
    mysql = "Cannot use ref access on index 'c' due to type or collation conversion on field 'code'"
    rewritten = "/* select#1 */ select 1 AS `1`"
    assert [*converted([mariadb, second, rewritten], ["t", "u"])] == [("t", "code")]
    assert [*converted([mysql, rewritten], ["t"])] == [("t", "code")]
    assert [*converted([mysql], ["t", "u"])] == []


def test_statements_that_cannot_be_planned_are_left_out(watcher: Connection):
    wrong = [ScriptStatement(0, "select nothing from t"), ScriptStatement(1, "begin")]
    assert TELEMETRY.facts(watcher, wrong).plans == ()


def test_the_performance_schema_names_waits_and_times_files():
    values = {
        "performance_schema": "ON",
        "performance_schema_consumer_events_waits_current": "ON",
    }
    spec = ServerSpec("mariadb", settings={**SMALL_INNODB, **values})
    with start_private(spec, connections=4) as server, server.connect() as watcher:
        TELEMETRY.begin(watcher)
        given, missing = TELEMETRY.sources(watcher, [])
        assert missing == []
        (files,) = [source for source in given if source.name == "file_io"]
        assert files.read(watcher)["innodb_data_file"]["reads"] > 0
        assert TELEMETRY.facts(watcher, []).details["waits_are_told"] is True
        with server.connect() as other:
            # A closed session remains for a moment.
            (its,) = eventually(
                lambda: [
                    one for one in TELEMETRY.sample_with_locks(watcher)()[0] if one.kind == "client"
                ],
                lambda seen: [list(one.pids) for one in seen] == [[TELEMETRY.pid(other)]],
            )
            assert all(task > 0 for task in its.tasks)
