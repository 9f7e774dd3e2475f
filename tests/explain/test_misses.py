"""Lookups that find no row: what is invalid, what is doubtful, and what may be meant."""

import numpy as np
import pytest
from msgspec.structs import replace

from dbdyno.explain.statements.misses import Misses, find_misses
from dbdyno.model.telemetry import IndexFacts, ServerFacts
from tests.explain.made import table
from tests.support.recordings import MadeRun

READ = "select * from accounts where id = :id"
ALLOWED = {"tpcb": 0.0}
KEY = IndexFacts(name="key", columns=("id",), is_unique=True, is_primary=True, bytes=0)
SECONDS = 10


def misses(*statements, allowed=ALLOWED, tables=(), executions=1000):
    """Those of a run of these statements, each with its executions without rows, by second."""
    run = MadeRun(seconds=SECONDS, warmup=0)
    run.facts(ServerFacts(tables=tables))
    for number, (sql, without) in enumerate(statements):
        run.statement(sql, line=number + 1)
        run.latency(number, 1.0, count=executions, without_rows=without)
    return find_misses(run.loaded(), allowed)


def test_what_a_workload_looks_up_is_to_be_found():
    assert misses((READ, 0)) == Misses()
    found = misses((READ, 1))
    assert found.invalid_reasons == []
    assert found.doubts == [
        "0.1\u202f% of 10\u202f000 executions of tpcb:1 found no row, and each is to find one "
        f"({READ})"
    ]
    found = misses((READ, 100), (READ.replace("*", "n"), 900), ("select 1", 1000))
    assert found.doubts == []
    assert found.invalid_reasons == [
        "90\u202f% of 10\u202f000 executions of tpcb:2 found no row, and each is to find one "
        "(select n from accounts where id = :id), and 1 other statement likewise; rows are "
        "missing: load the tables again, with --replace"
    ]


def test_others_may_just_have_deleted_a_row():
    assert misses((READ, 400), allowed={"tpcb": 0.5}) == Misses()
    assert misses((READ, 600), allowed={"tpcb": 0.5}).invalid_reasons


def test_a_miss_of_few_executions_is_chance_where_some_are_allowed():
    of_twenty = np.arange(SECONDS)
    once, six_times = np.where(of_twenty < 1, 1, 0), np.where(of_twenty < 6, 1, 0)
    assert misses((READ, once), allowed={"tpcb": 0.01}, executions=2) == Misses()
    assert misses((READ, six_times), allowed={"tpcb": 0.01}, executions=2).invalid_reasons
    assert misses((READ, once), executions=2).doubts


def test_an_own_lookup_that_never_finds_anything():
    assert misses((READ, 1000), allowed={}).doubts == [
        f"none of 10\u202f000 executions of tpcb:1 found a row ({READ})"
    ]
    assert misses((READ, 999), allowed={}) == Misses()


def test_an_own_lookup_that_finds_nothing_any_more():
    emptied = np.where(np.arange(SECONDS) < SECONDS * 0.6, 10, 990)
    (doubt,) = misses((READ, emptied), allowed={}).doubts
    assert "at first most did, at the end hardly any" in doubt
    assert misses((READ, emptied[::-1]), allowed={}) == Misses()


@pytest.mark.parametrize(
    ("key", "sql", "is_doubted"),
    [
        (KEY, READ, True),
        (KEY, READ.replace("accounts", "public.accounts"), True),
        (KEY, f"{READ} and version = :version", False),
        (replace(KEY, is_unique=False), READ, False),
        (replace(KEY, rows_share=0.5), READ, False),
        (replace(KEY, columns=("id", "n")), READ, False),
    ],
)
def test_of_a_unique_key_most_are_to_be_found(key, sql, is_doubted):
    tables = (table("accounts", indexes=(key,)),)
    doubts = misses((sql, 300), allowed={}, tables=tables).doubts
    assert bool(doubts) is is_doubted
    assert not is_doubted or "found no row by id, a unique key" in doubts[0]


def test_an_older_engine_did_not_count():
    assert misses((READ, np.nan)) == Misses()
