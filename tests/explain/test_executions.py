"""Which statements follow one, and how often, before its transaction ends."""

import pytest

from dbdyno.explain.statements.executions import executed_after
from tests.explain.made import in_lua
from tests.support.recordings import MadeRun

DECLARED = (
    "begin",
    "commit",
    "rollback",
    "update district set d_next_o_id = :n where d_id = :d",
    "update stock set s_quantity = :q where s_i_id = :i",
    "select c_data from customer where c_id = :c",
    "select i_price from item where i_id = :i",
)
BEGIN, COMMIT, ROLLBACK, DISTRICT, STOCK, CUSTOMER, ITEM = range(7)


def made(counts, *kept):
    """A script in Lua, the executions of its statements, and the transactions that were kept."""
    run = MadeRun(1000)
    for number, sql in enumerate(DECLARED):
        run.statement(sql)
        if number in counts:
            run.latency(number, 1.0, count=counts[number])
    for order in kept:
        run.kept(*order)
    return in_lua(run)


def test_those_of_a_script_follow_in_its_text():
    run = MadeRun()
    for sql in ("BEGIN;", "UPDATE a SET b = 1;", "SELECT 1;", "COMMIT;", "UPDATE a SET b = 1;"):
        run.statement(sql)
    run.statement("SELECT 2;")
    case = run.loaded()
    assert executed_after(case, 1) == {2: 1.0, 3: 1.0}
    assert executed_after(case, 4) == {4: 1.0}


@pytest.mark.parametrize("loaded", [MadeRun.loaded, in_lua])
def test_without_a_transaction_each_is_its_own(loaded):
    run = MadeRun().statement("UPDATE a SET b = 1;").statement("UPDATE b SET c = 1;")
    assert executed_after(loaded(run), 0) == {0: 1.0}


def test_of_declarations_nothing_is_known_without_transactions_that_were_kept():
    assert executed_after(made({BEGIN: 1000, DISTRICT: 1000, COMMIT: 1000}), DISTRICT) == {}


def test_their_order_is_that_of_transactions_that_were_kept_and_their_number_that_of_all():
    """Of the two that were kept, one has far more lines than the run's mean of 10."""
    counts = {BEGIN: 1000, DISTRICT: 1000, STOCK: 10_000, COMMIT: 990, ROLLBACK: 10}
    long = (BEGIN, DISTRICT, *[STOCK] * 15, COMMIT)
    case = made(counts, long, (BEGIN, DISTRICT, STOCK, STOCK, ROLLBACK))
    assert executed_after(case, DISTRICT) == pytest.approx(
        {STOCK: 10.0, COMMIT: 0.99, ROLLBACK: 0.01}
    )


def test_only_what_follows_its_first_execution_counts():
    counts = {BEGIN: 1000, CUSTOMER: 2000, DISTRICT: 1000, COMMIT: 1000}
    case = made(counts, (BEGIN, CUSTOMER, DISTRICT, CUSTOMER, COMMIT))
    assert executed_after(case, DISTRICT) == pytest.approx({CUSTOMER: 1.0, COMMIT: 1.0})
    assert executed_after(case, COMMIT) == {COMMIT: 1.0}


def test_of_a_statement_that_runs_now_and_then_those_are_counted_that_follow_it():
    counts = {BEGIN: 1000, CUSTOMER: 100, DISTRICT: 1000, COMMIT: 1000}
    ordinary = (BEGIN, DISTRICT, COMMIT)
    case = made(counts, *[ordinary] * 9, (BEGIN, CUSTOMER, DISTRICT, COMMIT))
    assert executed_after(case, CUSTOMER) == pytest.approx({DISTRICT: 1.0, COMMIT: 1.0})


def test_what_was_never_kept_follows_as_often_as_the_others():
    counts = {BEGIN: 1000, DISTRICT: 1000, STOCK: 1000, ITEM: 1000, COMMIT: 1000}
    case = made(counts, (BEGIN, DISTRICT, STOCK, COMMIT))
    assert executed_after(case, DISTRICT) == pytest.approx({STOCK: 1.0, ITEM: 0.5, COMMIT: 1.0})
