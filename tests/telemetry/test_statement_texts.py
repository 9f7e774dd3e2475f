"""A statement is known by its literal beginning."""

import pytest

from dbdyno.telemetry.statement_texts import StatementTexts
from tests.store.synthetic import SQL

TPCB = StatementTexts(dict(enumerate(SQL)))


@pytest.mark.parametrize(
    ("text", "statements"),
    [
        ("BEGIN;", {0}),
        ("begin", set()),
        ("END", {6}),
        ("UPDATE pgbench_accounts SET abalance = abalance + $1 WHERE aid = $2;", {1}),
        ("UPDATE pgbench_accounts SET abalance = abalance + -17 WHERE aid = 5;", {1}),
        ("UPDATE pgbench_tellers\n   SET tbalance = tbalance + $1\tWHERE tid = $2", {3}),
        ("INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES ($1, $2", {5}),
        ("ROLLBACK", set()),
        ("", set()),
    ],
)
def test_texts_of_tpcb(text, statements):
    assert TPCB.fitting(text) == statements
    assert TPCB.fitting(text) == statements  # as remembered


def test_where_two_begin_alike_both_are_named():
    texts = StatementTexts(
        {
            3: "select c from sbtest where id between :a and :b",
            4: "select c from sbtest where id between :a and :b order by c",
            5: "select c from sbtest where id = :a",
        }
    )
    assert texts.fitting("select c from sbtest where id between $1 and $2 order by c") == {3, 4}


def test_a_whole_statement_is_not_the_beginning_of_another():
    texts = StatementTexts({0: "select 1", 1: "select 10"})
    assert texts.fitting("select 10") == {1}


def test_a_cast_is_no_variable():
    texts = StatementTexts({0: "select now()::text", 1: "select now()::date"})
    assert texts.fitting("select now()::text") == {0}


def test_texts_that_the_server_cuts():
    long = "select " + ", ".join(f"column_{n}" for n in range(40))
    assert StatementTexts({0: long, 1: "select 1"}).fitting(long[:100]) == {0}
