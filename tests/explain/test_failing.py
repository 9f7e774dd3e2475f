"""Failing transactions: reported as such, and no other cause for a load that did nothing."""

import pytest
from inline_snapshot import snapshot

from dbdyno.explain.explain import NOTHING_DONE, explain
from dbdyno.explain.rule import CouldNotLook, NotFound
from tests.explain.made import with_looks, with_processors
from tests.explain.rule_outcomes import outcome_of, text_of
from tests.explain.test_lock_rules import failing
from tests.support.recordings import MadeRun

INSERT = "INSERT INTO accounts (id) VALUES (1);"
DUPLICATE = {
    "failure_class": "duplicate_key",
    "code": "23505",
    "message": 'duplicate key value violates unique constraint "accounts_pkey"',
    "statement": 0,
}
CANCELLED = {"failure_class": "cancelled", "code": "57014", "message": "canceling statement"}
DEADLOCK = {"failure_class": "deadlock", "code": "40P01", "message": "deadlock detected"}


def run_of(ok):
    """A minute with ``ok`` successful transactions a second."""
    return MadeRun(ok, seconds=60).statement(INSERT)


def failed(run, **counts):
    kinds = {"duplicate": DUPLICATE, "cancelled": CANCELLED, "deadlock": DEADLOCK}
    failures = [kinds[name] | {"count": count} for name, count in counts.items()]
    return failing(run, failures, failed=sum(counts.values()))


def busy_elsewhere(ok):
    """Other programs use the CPU."""
    run = with_processors(run_of(ok), server=0.4, engine=0.2, others=1.2)
    return run.counters("busiest", {"cpu_us": 1.2e6}, of="backup/4711")


def test_failures_are_reported_by_kind_with_the_statement_of_the_first():
    finding = outcome_of("failed_transactions", failed(run_of(100), cancelled=500, duplicate=1500))
    assert finding.share is None
    assert text_of(finding) == snapshot("""\
major: Transactions failed
2 000 of 8 000 transactions failed, 25 %: duplicate key (23505), cancelled
(57014).
1 500 times 23505, first at “INSERT INTO accounts (id) VALUES (1);”: duplicate
key value violates unique constraint "accounts_pkey".
500 times 57014: canceling statement.
""")
    assert [advice.split(",")[0] for advice in finding.advice] == [
        "Draw keys that do not exist yet",
        "Find what cancelled them: a timeout of the server or of the role",
    ]


def test_few_failures_are_not_reported():
    assert isinstance(
        outcome_of("failed_transactions", failed(run_of(100), duplicate=100)), NotFound
    )
    assert isinstance(outcome_of("failed_transactions", run_of(100)), NotFound)


def test_deadlocks_have_a_rule_of_their_own():
    assert isinstance(
        outcome_of("failed_transactions", failed(run_of(100), deadlock=3000)), NotFound
    )


@pytest.mark.parametrize("ok", [0, 1])
def test_failures_are_the_finding_for_a_load_without_successes(ok):
    """The first insert may have succeeded; other programs meanwhile did not hold it back."""
    always_asking = with_looks(busy_elsewhere(ok), (0, "", "", 8))
    explanation = explain(failed(always_asking, duplicate=9000))
    (finding,) = explanation.findings
    assert (finding.id, finding.severity) == ("failed_transactions", "critical")
    assert finding.title == "Nearly every transaction failed"
    assert finding.share == pytest.approx(9000 / (9000 + 60 * ok))
    assert {one.reason for one in explanation.not_looked} == {NOTHING_DONE}
    assert explanation.unexplained == pytest.approx(1 - finding.share)


def test_a_load_that_works_despite_failures_has_other_causes_reported():
    explanation = explain(failed(busy_elsewhere(100), duplicate=9000))
    assert {"failed_transactions", "cpu_others"} <= {one.id for one in explanation.findings}


def test_no_throughput_is_promised_to_a_load_that_has_none():
    finding = outcome_of("deadlocks", failed(run_of(0), deadlock=600))
    assert finding.severity == "critical"
    assert finding.gain == ""


@pytest.mark.parametrize("rule", ["cpu_others", "unsteady", "wal_write", "connection_churn"])
def test_failing_transactions_are_not_examined_for_bottlenecks(rule):
    assert outcome_of(rule, failed(busy_elsewhere(0), deadlock=600)) == CouldNotLook(NOTHING_DONE)
