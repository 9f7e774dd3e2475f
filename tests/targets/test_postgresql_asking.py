"""Questions that are asked again and again, on a connection that others use, too."""

import pytest
from psycopg import Connection, errors

from dbdyno.targets.postgresql.telemetry.asking import ask


def test_a_question_survives_the_rollback_after_which_the_driver_prepares_anew(watcher: Connection):
    watcher.prepare_threshold = 0
    assert ask(watcher, "select 1 as one").names == ["one"]
    with watcher.transaction(force_rollback=True):
        watcher.execute("select 2")
    assert watcher.execute("select count(*) from pg_prepared_statements").fetchone() == (1,)
    assert ask(watcher, "select 1 as one").rows() == [(1,)]


def test_a_question_that_cannot_be_asked_says_why(watcher: Connection):
    with pytest.raises(errors.UndefinedTable, match="no_such_table"):
        ask(watcher, "select 1 from no_such_table")
