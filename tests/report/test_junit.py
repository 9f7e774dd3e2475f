"""Verdicts as JUnit XML, as programs read it."""

from junitparser import Failure, JUnitXml, Skipped

from dbdyno.report.render_junit import Case, render_junit

CASES = [
    Case(name="kept", outcome="passed", seconds=1.5),
    Case(name="<broken> & \x1b[2J\u2028", outcome="failed", message='p99 > "5 ms" <script>'),
    Case(name="open", outcome="skipped", message="too few runs"),
]


def test_a_program_reads_each_verdict_with_its_reason():
    read = JUnitXml.fromstring(render_junit("compare", "new against old", CASES).encode())
    assert (read.tests, read.failures, read.errors, read.time) == (3, 1, 0, 1.5)
    (suite,) = read
    assert (suite.name, suite.tests, suite.failures, suite.skipped) == ("new against old", 3, 1, 1)
    kept, broken, left_open = suite
    assert (kept.name, kept.classname, kept.time, kept.result) == (
        "kept",
        "dbdyno.compare",
        1.5,
        [],
    )
    (failure,) = broken.result
    assert isinstance(failure, Failure)
    assert failure.message == failure.text == 'p99 > "5 ms" <script>'
    assert broken.name == "<broken> & [2J"
    (skipped,) = left_open.result
    assert isinstance(skipped, Skipped)
    assert skipped.message == "too few runs"


def test_no_verdict_is_a_suite_without_cases():
    (suite,) = JUnitXml.fromstring(render_junit("check", "oltp", []).encode())
    assert (suite.tests, len(list(suite))) == (0, 0)
