"""Queries that are repeated, on a connection that others use, too."""

import pytest
from psycopg import Connection, errors

from dbdyno.databases.postgresql.telemetry.prepared_queries import execute

PREPARED = "select count(*) from pg_prepared_statements where name like 'dbdyno%'"


def test_a_question_stays_prepared_over_a_rollback(watcher: Connection):
    """If it were not, each run would cause an error in the server's log."""
    assert execute(watcher, "select 1 as one").names == ["one"]
    for _ in range(2):
        watcher.execute("select 2")
        with watcher.transaction(force_rollback=True):
            watcher.execute("select 3")
    assert watcher.execute(PREPARED).fetchone() == (1,)


def test_a_query_unknown_to_the_server_is_prepared_again(watcher: Connection):
    assert execute(watcher, "select 1 as one").names == ["one"]
    watcher.execute("deallocate all")
    assert execute(watcher, "select 1 as one").rows() == [(1,)]


def test_an_invalid_query_reports_the_reason(watcher: Connection):
    with pytest.raises(errors.UndefinedTable, match="no_such_table"):
        execute(watcher, "select 1 from no_such_table")
