"""A statement is recognized by its form, and a truncated text by its literal beginning."""

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
    assert TPCB.fitting(text) == statements  # from the cache


def test_two_statements_with_the_same_beginning_are_both_named():
    texts = StatementTexts(
        {
            3: "select c from sbtest where id between :a and :b",
            4: "select c from sbtest where id between :a and :b order by c",
            5: "select c from sbtest where id = :a",
        }
    )
    assert texts.fitting("select c from sbtest where id between $1 and $2 ord") == {3, 4}
    assert texts.fitting("select c from sbtest where id between $1 and $2 order by c") == {4}
    assert texts.fitting("select c from sbtest where id between 7 and -1") == {3}


def test_a_whole_statement_is_not_the_beginning_of_another():
    texts = StatementTexts({0: "select 1", 1: "select 10"})
    assert texts.fitting("select 10") == {1}


def test_a_cast_is_no_variable():
    texts = StatementTexts({0: "select now()::text", 1: "select now()::date"})
    assert texts.fitting("select now()::text") == {0}


def test_texts_that_the_server_cuts():
    long = "select " + ", ".join(f"column_{n}" for n in range(40))
    assert StatementTexts({0: long, 1: "select 1"}).fitting(long[:100]) == {0}


@pytest.mark.parametrize(
    ("text", "statements"),
    [
        ("SELECT c FROM sbtest7 WHERE id=501", {0}),
        ("SELECT c FROM sbtest12 WHERE id=$1", {0}),
        ("SELECT c\n FROM sbtest1 WHERE id=?", {0}),
        ("UPDATE sbtest1 SET c='it''s \\' a' WHERE id=7", {1}),
        ("UPDATE sbtest1 SET c='it is cut he", {1}),
        ("SELECT k FROM sbtest1 WHERE k IN (1, 2,$3)", {2}),
        ("INSERT INTO sbtest1 VALUES (1, 'a'),(2, 'b')", {3}),
        ("SELECT c FROM sbtest WHERE id=1", set()),
        ("COMMIT", {4}),
    ],
)
def test_forms_of_statements_that_come_up_while_running(text, statements):
    texts = StatementTexts({})
    assert texts.fitting(text) == set()
    for number, sql in enumerate(
        (
            "SELECT c FROM sbtest# WHERE id=?",
            "UPDATE sbtest# SET c=? WHERE id=?",
            "SELECT k FROM sbtest# WHERE k IN (?, …)",
            "INSERT INTO sbtest# VALUES (?, …), …",
            "COMMIT",
        )
    ):
        texts.add(number, sql)
    assert texts.fitting(text) == statements
