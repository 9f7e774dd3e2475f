"""The counters of real servers: of two versions, with and without privileges."""

import struct
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing

import pytest
from psycopg import Connection, connect, errors

from dbdyno.databases.postgresql.over_postgresql import ADAPTER
from dbdyno.databases.postgresql.telemetry.server_context import TABLES_MAX
from dbdyno.databases.postgresql.telemetry.session import APPLICATION_NAME
from dbdyno.databases.postgresql.telemetry.statements import shape, wanted_shapes
from dbdyno.databases.telemetry import ScriptStatement
from dbdyno.model.source import Numbers, Source
from dbdyno.servers.base import Server
from dbdyno.servers.private import start_private
from dbdyno.servers.spec import ServerSpec
from tests.conftest import SMALL
from tests.databases.postgresql.conftest import PLAIN
from tests.support.patience import eventually

TELEMETRY = ADAPTER.telemetry

# What each source must have on every version that has the source.
COLUMNS = {
    "pg_stat_database": "numbackends blks_hit blk_read_time temp_bytes deadlocks xact_commit",
    "pg_stat_bgwriter": "buffers_clean buffers_alloc",
    "pg_stat_checkpointer": "num_timed num_requested write_time sync_time buffers_written",
    "pg_stat_wal": "wal_records wal_fpi wal_bytes wal_buffers_full",
    "pg_stat_io": "reads writes extends hits evictions fsyncs",
    "pg_stat_user_tables": "n_tup_upd n_tup_hot_upd n_live_tup n_dead_tup autovacuum_count",
    "pg_statio_user_tables": "heap_blks_hit heap_blks_read idx_blks_hit",
    "pg_stat_user_indexes": "idx_scan idx_tup_read idx_tup_fetch",
    "wal_position": "bytes segments",
    "sizes": "bytes",
    "progress": "",
    "replication": "",
    "sessions": "clients active idle_in_transaction foreign_clients oldest_transaction_s "
    "oldest_idle_in_transaction_s horizon_age_transactions standby_age_transactions",
}


def sources_of(watcher: Connection, *statements: str) -> dict[str, Source[Connection]]:
    numbered = [ScriptStatement(number, text) for number, text in enumerate(statements)]
    given, _ = TELEMETRY.sources(watcher, numbered)
    return {source.name: source for source in given}


def read(watcher: Connection, name: str, *statements: str) -> Mapping[str, Numbers]:
    return sources_of(watcher, *statements)[name].read(watcher)


def work(database: Server, *statements: str) -> None:
    """Execute statements in a separate session."""
    with database.connect() as connection:
        for statement in statements:
            connection.execute(statement.encode())


def test_each_source_is_given_or_missing(watcher: Connection, worker: Connection) -> None:
    worker.execute("create table t (id int primary key)")
    given, missing = TELEMETRY.sources(watcher, [])
    assert {source.name for source in given} | {lack.source for lack in missing} == {
        *COLUMNS,
        "pg_stat_statements",
    }
    is_new = watcher.info.server_version >= 160000
    absent = {"pg_stat_statements"} if is_new else {"pg_stat_statements", "pg_stat_io"}
    assert {lack.source for lack in missing} == absent
    for source in given:
        columns = {name for numbers in source.read(watcher).values() for name in numbers}
        assert set(COLUMNS[source.name].split()) <= columns, source.name
        if columns and source.name != "pg_stat_io":  # newer versions lack its only level
            assert source.levels <= columns, source.name


def test_numbers_are_numbers(watcher: Connection, worker: Connection) -> None:
    worker.execute("create table t (id int primary key)")
    for name, source in sources_of(watcher).items():
        for numbers in source.read(watcher).values():
            assert {type(value) for value in numbers.values()} <= {int, float}, name


def test_what_is_done_is_counted(any_database: Server, watcher: Connection) -> None:
    work(any_database, "create table t (id int primary key, v int) with (fillfactor = 40)")
    found = sources_of(watcher)
    before = found["wal_position"].read(watcher)[""]["bytes"]
    work(any_database, "insert into t select generate_series(1, 100), 0", "update t set v = 1")
    table = eventually(
        lambda: found["pg_stat_user_tables"].read(watcher)["t"], lambda now: now["n_tup_upd"] > 0
    )
    assert (table["n_tup_ins"], table["n_tup_upd"], table["n_tup_hot_upd"]) == (100, 100, 100)
    assert table["n_dead_tup"] == 100
    assert found["wal_position"].read(watcher)[""]["bytes"] - before > 10_000


def test_a_switch_of_the_wal_is_counted(watcher: Connection, worker: Connection) -> None:
    worker.execute("create table t (id int)")
    worker.execute("select pg_switch_wal()")  # otherwise a file might end by itself meanwhile
    worker.execute("insert into t values (1)")  # there is no switch from a file without records
    before = read(watcher, "wal_position")[""]["segments"]
    worker.execute("select pg_switch_wal()")
    worker.execute("insert into t values (2)")
    assert read(watcher, "wal_position")[""]["segments"] == before + 1


def test_indexes_are_named_after_their_tables(watcher: Connection, worker: Connection) -> None:
    worker.execute("create schema other")
    worker.execute('create table other."Odd name" (id int primary key)')
    worker.execute("create table t (id int); create index i on t (id)")
    assert read(watcher, "pg_stat_user_indexes").keys() == {
        "t.i",
        "other.Odd name.Odd name_pkey",
    }
    assert read(watcher, "sizes").keys() == {
        "",
        "t",
        "t.i",
        "other.Odd name",
        "other.Odd name.Odd name_pkey",
    }


def test_sizes_grow(watcher: Connection, worker: Connection) -> None:
    worker.execute("create table t (id int)")
    assert read(watcher, "sizes")["t"]["bytes"] == 0
    worker.execute("insert into t select generate_series(1, 10000)")
    sizes = read(watcher, "sizes")
    assert sizes["t"]["bytes"] > 300_000
    assert sizes[""]["database_bytes"] > sizes["t"]["bytes"]


def test_a_reset_shows(watcher: Connection, worker: Connection) -> None:
    source = sources_of(watcher)["pg_stat_database"]
    worker.execute("select pg_stat_reset()")
    first = source.read(watcher)[""]["stats_reset"]
    worker.execute("select pg_sleep(0.01), pg_stat_reset()")
    assert source.read(watcher)[""]["stats_reset"] > first


def test_among_many_tables_those_of_the_statements_come_first(
    any_database: Server, watcher: Connection, worker: Connection
) -> None:
    worker.execute("create table quiet (id int)")
    worker.execute("create table whole (id int) partition by hash (id)")
    worker.execute("create table part partition of whole for values with (modulus 1, remainder 0)")
    work(
        any_database,
        f"do $$ begin for i in 1..{TABLES_MAX + 20} loop execute format("
        "'create table t%s (id int); insert into t%s values (1)', i, i); end loop; end $$",
    )
    named = read(watcher, "pg_stat_user_tables", "select * from quiet, whole where id = :id")
    assert len(named) == TABLES_MAX
    assert {"quiet", "part"} <= named.keys()
    # The server publishes what a session did a moment after it has ended.
    eventually(lambda: read(watcher, "pg_stat_user_tables").keys(), {"quiet", "part"}.isdisjoint)


def test_progress_of_a_long_command(
    any_database: Server, watcher: Connection, worker: Connection
) -> None:
    """Building an index waits for a transaction to end before it begins."""
    worker.execute("create table t (id int)")
    worker.execute("begin")
    worker.execute("lock table t in row exclusive mode")
    building = threading.Thread(
        target=work, args=(any_database, "create index concurrently on t (id)")
    )
    source = sources_of(watcher)["progress"]
    building.start()
    try:
        found = eventually(lambda: source.read(watcher), bool)
    finally:
        worker.execute("rollback")
        building.join()
    assert found == {"CREATE INDEX CONCURRENTLY/t": {"done": 0, "total": 0}}


def test_sessions_in_sum(any_database: Server, watcher: Connection, worker: Connection) -> None:
    worker.execute("set application_name to 'other'")
    worker.execute("create table t (id int)")
    worker.execute("begin isolation level repeatable read")
    worker.execute("insert into t values (1)")
    work(any_database, *["insert into t values (2)"] * 5)
    # A closed session remains for a moment.
    sums = eventually(
        lambda: read(watcher, "sessions")[""], lambda now: now["foreign_clients"] == 1
    )
    assert sums["idle_in_transaction"] == 1
    assert sums["horizon_age_transactions"] >= 5
    assert sums["oldest_transaction_s"] >= sums["oldest_idle_in_transaction_s"] > 0
    worker.execute("rollback")
    sums = read(watcher, "sessions")[""]
    assert sums["idle_in_transaction"] == sums["oldest_idle_in_transaction_s"] == 0


def feed_back(database: Server, slot: str, begin: str, xmin: int) -> None:
    """Send what a standby reports about its oldest query (the protocol's hot standby feedback)."""
    feedback = struct.pack("!cqIIII", b"h", 0, xmin, 0, 0, 0)
    held = "select xmin is not null, active from pg_replication_slots"
    with database.connect() as connection:
        with closing(connect(database.conninfo, replication="true", autocommit=True)) as standby:
            standby.pgconn.exec_(f"START_REPLICATION SLOT {slot} PHYSICAL {begin}".encode())
            standby.pgconn.put_copy_data(feedback)
            standby.pgconn.flush()
            # The server may end the session of a standby that has gone before reading all of its
            # messages.
            eventually(lambda: connection.execute(held).fetchone(), lambda row: row == (True, True))
        eventually(lambda: connection.execute(held).fetchone(), lambda row: row == (True, False))


def test_rows_that_a_standby_reads_are_held_for_it(
    any_database: Server, watcher: Connection, worker: Connection
) -> None:
    """Its slot keeps that after it has gone."""
    read_by_it, begin = worker.execute(
        "select txid_current(), lsn from pg_create_physical_replication_slot('gone', true)"
    ).fetchone()
    try:
        feed_back(any_database, "gone", begin, read_by_it)
        work(any_database, *["select txid_current()"] * 5)
        sums = read(watcher, "sessions")[""]
        assert sums["horizon_age_transactions"] == sums["standby_age_transactions"] >= 5
        assert sums["oldest_transaction_s"] == 0
    finally:
        worker.execute("select pg_drop_replication_slot('gone')")


def test_without_rights_the_reason_names_the_remedy(plain_watcher: Connection) -> None:
    given, missing = TELEMETRY.sources(plain_watcher, [])
    reasons = {lack.source: lack.reason for lack in missing}
    for name in ("sessions", "progress", "replication"):
        assert f'grant pg_monitor to "{PLAIN}"' in reasons[name]
    assert COLUMNS.keys() - {source.name for source in given} <= reasons.keys()
    assert {"pg_stat_database", "wal_position", "sessions", "sizes"} <= {
        source.name for source in given
    }


def test_what_is_locked_is_not_waited_for(watcher: Connection, worker: Connection) -> None:
    worker.execute("create table t (id int)")
    worker.execute("begin")
    worker.execute("lock table t in access exclusive mode")
    source = sources_of(watcher)["sizes"]
    with pytest.raises(errors.LockNotAvailable):
        source.read(watcher)
    worker.execute("rollback")
    assert "t" in source.read(watcher)


def test_the_connection_is_quiet_and_can_change_nothing(worker: Connection) -> None:
    TELEMETRY.begin(worker)
    row = worker.execute(
        "select current_setting('application_name'), current_setting('statement_timeout'),"
        " current_setting('lock_timeout'), current_setting('jit')"
    ).fetchone()
    assert row == (APPLICATION_NAME, "1s", "100ms", "off")
    with pytest.raises(errors.ReadOnlySqlTransaction):
        worker.execute("create table t (id int)")


def test_the_process_is_the_connections(watcher: Connection) -> None:
    assert TELEMETRY.pid(watcher) == watcher.info.backend_pid


@pytest.fixture(scope="module")
def equipped() -> Iterator[Server]:
    """A server with pg_stat_statements and a log collector."""
    settings = {"shared_preload_libraries": "pg_stat_statements", "logging_collector": "on"}
    with start_private(ServerSpec(settings=SMALL | settings), connections=8) as server:
        with server.connect() as connection:
            connection.execute(
                "create schema tools; create extension pg_stat_statements schema tools"
            )
            connection.execute("create table t (id int primary key, v int)")
        yield server


def test_statements_are_found_by_their_shape(equipped: Server) -> None:
    scripts = ("BEGIN;", "update t set v = v + :d\n  where id = :id;", "select 1;", "select 2;")
    with equipped.connect() as watcher, equipped.connect() as client:
        TELEMETRY.begin(watcher)
        source = sources_of(watcher, *scripts)["pg_stat_statements"]
        for number in range(7):
            client.execute("update t set v = v + %s where id = %s", [number, 1])
        client.execute("update t set v = v + 5 where id = 7; select 3")
        found = source.read(watcher)
    assert found["statement 1"]["calls"] == 8
    assert found[""]["calls"] >= 9
    assert found["statement 1"]["shared_blks_hit"] <= found[""]["shared_blks_hit"]
    assert not {"statement 2", "statement 3"} & found.keys()  # of the same shape
    assert not [name for name in found[""] if name.startswith(("mean_", "min_"))]


def test_our_own_statements_are_not_the_loads(equipped: Server) -> None:
    with equipped.connect() as watcher:
        TELEMETRY.begin(watcher)
        source = sources_of(watcher)["pg_stat_statements"]
        calls = [source.read(watcher)[""]["calls"] for _ in range(5)]
    assert len(set(calls)) == 1


def test_the_log_is_where_the_server_reports_it(equipped: Server) -> None:
    with equipped.connect() as connection:
        path = TELEMETRY.log_path(connection)
    assert path is not None
    # The collector is a separate process, which may be behind.
    eventually(path.read_text, lambda text: "ready to accept connections" in text)


def test_without_a_collector_or_rights_there_is_no_log(
    watcher: Connection, plain_watcher: Connection
) -> None:
    assert TELEMETRY.log_path(watcher) is None
    assert TELEMETRY.log_path(plain_watcher) is None


@pytest.mark.parametrize(
    ("script", "entry"),
    [
        ("select a from t where id = :id;", "select a from t where id = $1"),
        ("select a from t where id = 5 and b = 'x';", "SELECT a FROM t WHERE id = $1 and b = $2"),
        ("select\n a -- all of it\nfrom t;", "select a from t"),
        ("select * from t where id in (:a, :b, 3)", "select * from t where id in ($1 /*, ... */)"),
        ("select ':a', :b::int", "select $1, $2::int"),
    ],
)
def test_shapes_of_scripts_and_entries_agree(script: str, entry: str) -> None:
    assert shape(script) == shape(entry)


def test_ambiguous_shapes_are_not_searched() -> None:
    texts = ["select 1", "select 2", "select a"]
    statements = [ScriptStatement(number, text) for number, text in enumerate(texts)]
    assert wanted_shapes(statements) == {"select a": "statement 2"}
