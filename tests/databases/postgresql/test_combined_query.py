"""The query for all sources of a second: which answer belongs to which, and what if it fails."""

import math

import psycopg
import pytest
from psycopg import Connection

from dbdyno.databases.postgresql.telemetry.combined_query import (
    FRESH_S,
    PAUSE_S,
    TOO_BUSY,
    CombinedQuery,
)

COUNTED = "select 'of ' || n, n::int8 as number, null::int4 as lacking from t"
DOUBLED = "select '', sum(2 * n) as doubled from t"


@pytest.fixture
def now() -> list[float]:
    return [100.0]


@pytest.fixture
def combined(now: list[float], monkeypatch: pytest.MonkeyPatch) -> CombinedQuery:
    """None of its parts is expensive, however slow the CPU is."""
    monkeypatch.setattr(
        "dbdyno.databases.postgresql.telemetry.combined_query.EXPENSIVE_S", math.inf
    )
    return CombinedQuery([], lambda: now[0])


@pytest.fixture
def table(worker: Connection) -> Connection:
    worker.execute("create table t (n int); insert into t values (1), (2)")
    return worker


def test_one_answer_is_of_one_instant(watcher: Connection, table: Connection, now, combined):
    counted, doubled = combined.reader("a", COUNTED), combined.reader("b", DOUBLED)
    for _ in range(2):  # each alone at first, then in one query
        assert counted(watcher) == {"of 1": {"number": 1}, "of 2": {"number": 2}}
        assert doubled(watcher) == {"": {"doubled": 6}}
    now[0] += 1
    assert set(counted(watcher)) == {"of 1", "of 2"}
    table.execute("delete from t where n = 1")
    assert doubled(watcher) == {"": {"doubled": 6}}
    assert doubled(watcher) == {"": {"doubled": 4}}  # an answer is returned only once


def test_an_old_answer_is_discarded(watcher: Connection, table: Connection, now, combined):
    readers = [combined.reader("a", COUNTED), combined.reader("b", DOUBLED)]
    for read in (*readers, readers[0]):
        read(watcher)
    table.execute("delete from t where n = 1")
    now[0] += 2 * FRESH_S
    assert readers[1](watcher) == {"": {"doubled": 4}}


def test_nor_one_of_another_session(
    any_database, watcher: Connection, table: Connection, combined
) -> None:
    readers = [combined.reader("a", COUNTED), combined.reader("b", DOUBLED)]
    for read in (*readers, readers[0]):
        read(watcher)
    table.execute("delete from t where n = 1")
    with any_database.connect() as other:
        assert readers[1](other) == {"": {"doubled": 4}}


def test_what_fails_fails_alone(watcher: Connection, table: Connection, combined) -> None:
    table.execute("create table gone (n int)")
    counted = combined.reader("a", COUNTED)
    lost = combined.reader("b", "select '', count(*) as number from gone")
    assert (len(counted(watcher)), lost(watcher)) == (2, {"": {"number": 0}})
    table.execute("drop table gone")
    for _ in range(2):
        assert len(counted(watcher)) == 2
        with pytest.raises(psycopg.errors.UndefinedTable):
            lost(watcher)


def test_a_server_that_was_too_busy_gets_the_combined_query_again_later(
    watcher: Connection, table: Connection, now, combined
) -> None:
    counted, doubled = combined.reader("a", COUNTED), combined.reader("b", DOUBLED)
    for read in (counted, doubled):
        read(watcher)
    watcher.execute("set statement_timeout = 300")
    with table.transaction():
        table.execute("lock table t")
        for read in (counted, doubled):
            with pytest.raises(TOO_BUSY):
                read(watcher)
    watcher.execute("reset statement_timeout")
    assert len(counted(watcher)) == 2
    table.execute("update t set n = 10")
    assert doubled(watcher) == {"": {"doubled": 40}}
    now[0] += PAUSE_S
    assert len(counted(watcher)) == 1
    table.execute("delete from t")
    assert doubled(watcher) == {"": {"doubled": 40}}


def test_a_part_that_was_never_read_is_not_queried(
    watcher: Connection, table: Connection, combined
) -> None:
    lost = combined.reader("b", "select '', n from never")
    counted = combined.reader("a", COUNTED)
    with pytest.raises(psycopg.errors.UndefinedTable):
        lost(watcher)
    for _ in range(2):
        assert len(counted(watcher)) == 2


def test_a_session_that_ends_is_no_reason_to_read_apart(
    watcher: Connection, table: Connection, combined
) -> None:
    read = combined.reader("a", COUNTED)
    read(watcher)
    table.execute("select pg_terminate_backend(%s)", [watcher.info.backend_pid])
    with pytest.raises(psycopg.Error):
        read(watcher)
    assert watcher.closed


def test_the_tables_are_those_it_was_made_for(watcher: Connection, table: Connection) -> None:
    (relid,) = table.execute("select 't'::regclass::int8").fetchone() or ()
    read = CombinedQuery([relid]).reader(
        "a", "select '', count(*) from pg_class where oid = any($1::oid[])"
    )
    for _ in range(2):
        assert read(watcher) == {"": {"count": 1}}
