"""What isolation levels cost, refuse and let through, from runs with known differences."""

import pytest

from dbdyno.answers.answering import all_answers
from dbdyno.model.record import CheckRecord, FailureRecord, TransactionCounts
from tests.answers.costed import changed
from tests.answers.made import factor, spec, study
from tests.answers.test_engines import plain

ENGINE = factor("engine", "postgres", "mariadb")
LEVEL = factor("isolation", "read-committed", "repeatable-read", "serializable")
HOT = factor("hot_customers", 10, 1000, title="hot customers")
# Throughput divided by that of read-committed.
COST = {"read-committed": 1.0, "repeatable-read": 1.0, "serializable": 0.6}
OF_LEVELS = {"factor": "isolation", "by": "engine"}


def answered(name, trials, **options):
    return all_answers()[name].answer(trials, {**OF_LEVELS, **options})


def of_levels(*, repeats=5, tps=lambda at: 1000.0 * COST[at["isolation"]], **noise):
    return study(spec(ENGINE, LEVEL, HOT, repeats=repeats), tps, **({"noise": 0.003} | noise))


def cost(trials):
    return answered("level-cost", trials, reference="read-committed", over="hot_customers")


def test_the_verdict_says_what_each_level_costs_on_each_server():
    verdict, *claims = cost(of_levels()).claims
    assert verdict.is_decided
    assert plain(verdict.sentence).startswith(
        "Throughput against read-committed, on average over hot customers: postgres the same "
        "within ±3 % at repeatable-read, 0.6"
    )
    assert "at serializable; mariadb the same" in plain(verdict.sentence)
    assert [claim.effect for claim in claims] == pytest.approx([1, 0.6, 1, 0.6], rel=0.01)


def test_a_level_whose_cost_is_noise_is_left_open_with_the_repeats_needed():
    verdict, *_ = cost(of_levels(noise=0.5, seed=2, repeats=3)).claims
    assert not verdict.is_decided
    assert "not to be told apart at serializable" in verdict.sentence
    assert "mariadb serializable" in verdict.undecided
    assert "more repeats" in verdict.doubt


def test_a_cost_that_depends_on_contention_is_named():
    def tps(at):
        is_dear = at["isolation"] == "serializable" and at["hot_customers"] == "10"
        return 400.0 if is_dear else 1000.0 * (1.2 if at["isolation"] == "serializable" else 1)

    claims = cost(of_levels(tps=tps)).claims
    assert "The lead changes with hot_customers: 0.40" in plain(claims[2].doubt)


def test_each_level_has_a_row_at_each_number_of_hot_customers():
    (table,) = cost(of_levels()).shown
    assert [row[:3] for row in table.rows[:2]] == [
        ("postgres", "repeatable-read", "10"),
        ("postgres", "repeatable-read", "1000"),
    ]
    assert len(table.rows) == 2 * 2 * 2


def test_without_another_level_there_is_nothing_to_compare():
    made = study(spec(ENGINE, factor("isolation", "serializable"), HOT), lambda _: 1000.0)
    assert cost(made).missing == "no runs of read-committed and another level of isolation"


def failure(name, count, **by_script):
    scripts = {script.replace("_", "-"): number for script, number in by_script.items()}
    return FailureRecord(
        failure_class=name, code="40001", count=count, message="no", by_script=scripts
    )


def refusing(trials, refusals_of):
    counts = TransactionCounts(ok=2000, failed=0, skipped=0, unfinished=0, retried=0)
    return changed(
        trials,
        lambda trial: {"transactions": counts, "tried_again": refusals_of(trial)},
    )


def test_refusals_are_counted_by_class_and_transaction():
    def refusals(trial):
        at = trial.point
        if at["isolation"] != "serializable":
            return [failure("connection", 5, balance=5)]
        number = 300 if at["hot_customers"] == "10" else 3
        share = {"write_check": 2 * number // 3, "balance": number // 3}
        return [failure("serialization", number, **share), failure("deadlock", 100, balance=100)]

    found = answered("refusals", refusing(of_levels(), refusals), over="hot_customers")
    low, _, high, *_ = found.claims
    assert plain(low.sentence) == (
        "postgres, read-committed: none of 20 000 transactions was refused."
    )
    assert high.effect == pytest.approx(200)
    assert plain(high.sentence).startswith(
        "postgres, serializable: most are refused with hot customers 10, 200 tries per 1000"
    )
    assert "serialization failures 75 %, deadlocks 25 %" in plain(high.sentence)
    assert "of write-check 50 %, balance 50 %" in plain(high.sentence)
    assert len(found.shown[0].rows) == 12


def test_a_run_without_refusals_gives_no_interval():
    def refusals(trial):
        return [failure("deadlock", 40 * (trial.block - 1), balance=40 * (trial.block - 1))]

    found = refusing(of_levels(repeats=2), refusals)
    claims = answered("refusals", found, over="hot_customers").claims
    assert all(claim.low is None for claim in claims)


def checking(trials, rows_of, before=0):
    def checks(trial):
        rows = rows_of(trial)
        example = {"custid": 1} if rows else None
        ok = not rows
        check = CheckRecord(
            id="1", claim="all is well", ok=ok, rows=rows, rows_before=before, example=example
        )
        return {"checks": [check]}

    return changed(trials, checks)


def test_what_got_through_is_counted_in_runs():
    def rows(trial):
        is_low = trial.point["isolation"] == "read-committed"
        return 7 if is_low and trial.point["hot_customers"] == "10" else 0

    found = answered(
        "let-through", checking(of_levels(), rows), condition="1", unseen="Readers are not seen."
    )
    low, _, high, *_ = found.claims
    assert low.sentence == (
        "postgres, read-committed: that all is well did not hold after 5 of 10 runs, for up to "
        "7 rows."
    )
    assert high.sentence == "postgres, serializable: that all is well held after each of 10 runs."
    assert high.high == pytest.approx(1 - 0.05 ** (1 / 10))
    assert "25.9 % of runs" in plain(high.doubt)
    assert high.doubt.endswith("Readers are not seen.")


def test_what_was_there_before_was_not_let_through_by_the_run():
    trials = checking(of_levels(), lambda _: 7, before=7)
    claims = answered("let-through", trials, condition="1").claims
    assert [claim.effect for claim in claims] == [0.0] * 6


def test_runs_that_read_no_condition_say_so():
    found = answered("let-through", of_levels(), condition="1")
    assert (list(found.claims), found.missing) == ([], "no run read condition 1")
