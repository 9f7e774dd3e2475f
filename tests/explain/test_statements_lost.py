"""Prepared statements that a session lacked: who caused it, and what to do."""

from inline_snapshot import snapshot

from dbdyno.explain.rule import NotFound
from tests.explain.rule_outcomes import outcome_of, text_of
from tests.explain.test_lock_rules import failing
from tests.support.recordings import MadeRun, changed

GONE = {
    "failure_class": "other",
    "code": "26000",
    "count": 60,
    "message": 'prepared statement "s0" does not exist',
}


def test_behind_a_pooler_the_ways_out_are_named():
    finding = outcome_of("statements_lost", failing(MadeRun(100, seconds=60), [GONE], failed=60))
    assert text_of(finding) == snapshot("""\
minor: Prepared statements lost
60 transactions, 0.99 % of all, failed because their session did not have a
statement that had been prepared.
26000: prepared statement "s0" does not exist.
""")
    assert "-M extended" in finding.advice[0]
    assert "PgBouncer" in finding.advice[1]


def test_a_script_that_empties_its_session_is_what_to_mend():
    recording = failing(MadeRun(100, seconds=60), [GONE], failed=60)
    script = {"name": "tpcb", "text": "select 1;\nDISCARD ALL;\n"}
    recording = changed(recording, plan={"scripts": [script]})
    finding = outcome_of("statements_lost", recording)
    assert finding.certainty == "likely"
    assert finding.advice == snapshot(
        [
            "Remove it from tpcb, or run with -M simple or -M extended, which keep nothing in the "
            "session."
        ]
    )


def test_other_failures_are_not_its_business():
    other = GONE | {"code": "22012", "message": "division by zero"}
    recording = failing(MadeRun(100, seconds=60), [other], failed=60)
    assert isinstance(outcome_of("statements_lost", recording), NotFound)
