"""Findings sorted, those with one cause merged, and the unexplained rest."""

import pytest
from msgspec.structs import replace

from dbdyno.analysis.waits.budget import Budget, Part
from dbdyno.explain.directness import uncovered
from dbdyno.explain.explain import (
    Explanation,
    explain,
    left_over,
    outcome,
    unexplained,
)
from dbdyno.explain.explanation_text import explanation_lines, summary_lines
from dbdyno.explain.gains import gains_in
from dbdyno.explain.needs import LackingError
from dbdyno.explain.registry import all_rules
from dbdyno.explain.rule import Aside, Claim, Evidence, NotFound, Rule, at_most, severity_of
from dbdyno.layout import laid_out
from dbdyno.model.record import Finding, UnevaluatedRule
from tests.explain.made import made_run, with_looks, with_processors
from tests.support.recordings import MadeRun

NEAR_FIRST = {"near": frozenset({"far"})}


def a_rule(name, **more):
    return Rule(id=name, title=name, look=lambda _: NotFound(""), **more)


def a_finding(name, severity="major", *, share=None, certainty="hint", **more):
    return Finding(
        id=name,
        title=f"Title of {name}",
        severity=severity,
        summary="It is so.",
        evidence={},
        share=share,
        share_of="client time" if share else "",
        certainty=certainty,
        **more,
    )


def a_budget(**shares):
    parts = [
        Part(statement=0, kind=kind, wait_type="", wait_event="", seconds=of * 100, low=0, high=100)
        for kind, of in shares.items()
    ]
    return Budget(
        total=100,
        samples=9,
        parts=parts,
        charges=[],
        not_seen=0.0,
        knows_cpu_queue=True,
        knows_sessions=True,
    )


def test_severity_follows_the_share():
    shares = (0.01, 0.05, 0.15, 0.4)
    assert [severity_of(share) for share in shares] == ["note", "minor", "major", "critical"]
    assert at_most("minor", "critical") == "minor"
    assert at_most("minor", "note") == "note"


def test_a_nearer_finding_hides_what_it_covers_unless_that_is_graver():
    near, far = a_finding("near"), a_finding("far")
    assert uncovered([near, far], NEAR_FIRST) == [near]
    graver = a_finding("far", "critical")
    assert uncovered([near, graver], NEAR_FIRST) == [near, graver]


def test_a_nearer_finding_hides_none_that_accounts_for_much_more_or_is_better_known():
    """Sorts that spill take a fifth of the time; that the CPU takes the rest remains visible."""
    near, alike = a_finding("near", share=0.2), a_finding("far", share=0.4)
    assert uncovered([near, alike], NEAR_FIRST) == [near]
    larger = a_finding("far", share=0.8)
    assert uncovered([near, larger], NEAR_FIRST) == [near, larger]
    assert uncovered([near, replace(alike, certainty="likely")], NEAR_FIRST) != [near]
    of_something_else = replace(larger, share_of="lost throughput")
    assert uncovered([near, of_something_else], NEAR_FIRST) == [near]


def test_time_that_no_finding_accounts_for_remains():
    rules = {"io": a_rule("io", accounts_for=frozenset({"io"}))}
    spent = a_budget(io=0.3, cpu=0.5, idle=0.2)
    assert unexplained([a_finding("io", share=0.25)], rules, spent) == pytest.approx(0.55)


def test_no_time_is_accounted_for_twice():
    rules = {
        "one": a_rule("one", accounts_for=frozenset({"cpu"})),
        "two": a_rule("two", accounts_for=frozenset({"cpu", "io"})),
    }
    findings = [a_finding("two", share=0.6), a_finding("one", share=0.5)]
    # ``one`` takes all of the CPU's 0.5; ``two`` finds 0.2 of its 0.6 in what is left.
    assert unexplained(findings, rules, a_budget(cpu=0.5, io=0.2, lock=0.3)) == pytest.approx(0.3)


@pytest.mark.parametrize("rule", ["outage", "cpu_throttled", "connection_churn"])
def test_a_server_that_answers_no_client_answers_no_sample(rule):
    """A finding that accounts for such time also accounts for what was not sampled of it."""
    spent = replace(a_budget(cpu=0.4), not_seen=60)
    assert unexplained([a_finding(rule, share=0.65)], all_rules(), spent) <= 0.4
    assert unexplained([a_finding("wal_write", share=0.65)], all_rules(), spent) == 1.0


def test_waits_behind_clients_on_the_way_are_the_networks():
    far = a_finding("round_trips", share=0.9)
    spent = a_budget(client_or_network=0.3, lock=0.7)
    assert unexplained([far], all_rules(), spent) == pytest.approx(0.1)


def test_the_unexplained_rest_is_known_by_kind():
    rules = {"io": a_rule("io", accounts_for=frozenset({"io"}))}
    spent = replace(a_budget(cpu=0.5, io=0.3, idle=0.1), not_seen=10)
    left = left_over([a_finding("io", share=0.25)], rules, spent)
    assert left == pytest.approx({"cpu": 0.5, "io": 0.05, "not_seen": 0.1})
    assert unexplained([a_finding("io", share=0.25)], rules, spent) == pytest.approx(0.65)


@pytest.mark.parametrize(
    ("server_cores", "kinds"), [(0.5, {"cpu", "cpu_queue"}), (None, {"active"})]
)
def test_time_on_a_cpu_is_called_so_only_if_it_is_known(server_cores, kinds):
    run = with_looks(made_run("SELECT 1;", clients=1), (0, "", "", 1))
    if server_cores:
        with_processors(run, server=server_cores)
    explanation = explain(run.loaded())
    assert explanation.unexplained == pytest.approx(1)
    assert explanation.unexplained_as.keys() == kinds


def test_without_samples_the_unexplained_rest_is_unknown():
    assert unexplained([], {}, None) is None


def test_a_rule_without_its_data_could_not_look_and_one_that_fails_reports_the_error(monkeypatch):
    def lacks(_):
        raise LackingError("it was dark")

    rules = {"dark": Rule(id="dark", title="Dark", look=lacks)}
    rules["broken"] = Rule(id="broken", title="Broken", look=lambda _: 1 / 0)
    monkeypatch.setattr("dbdyno.explain.explain.all_rules", lambda: rules)
    explanation = explain(made_run().loaded())
    reasons = {rule.id: rule.reason for rule in explanation.not_looked}
    assert reasons["dark"] == "it was dark"
    assert reasons["broken"] == "internal error in this rule: ZeroDivisionError: division by zero"


def test_a_server_without_telemetry_is_the_reason_for_all_missing_data():
    run = made_run().read("machine").lack("server", "it is in recovery")
    reasons = [one.reason for one in explain(run.loaded()).not_looked]
    assert "pg_stat_database was not read: it is in recovery" in reasons
    assert "the server's sessions were not sampled: it is in recovery" in reasons


@pytest.mark.parametrize(
    ("share", "expected"),
    [
        (0.02, ""),
        (0.5, "Throughput rises by a factor of at most 2."),
        (0.99, "Throughput rises by a factor of at most 100."),
        (0.998, "Throughput rises by a factor of 100 or more."),
        (1.0, "Throughput rises by a factor of 100 or more."),
    ],
)
def test_a_share_is_called_a_bound_only_if_it_is_one(share, expected):
    assert gains_in(MadeRun().loaded()).text(share) == expected


def test_at_a_given_rate_no_throughput_is_promised():
    case = MadeRun(is_open=True).loaded()
    assert gains_in(case).text(0.5) == "Response times fall; the rate stays as requested."


class Made(Claim, frozen=True, kw_only=True):
    """A claim that is as severe and as certain as it was made."""

    x: int = 1
    grave: Aside[str] = "note"
    sure: Aside[str] = "likely"
    summary = "It is so."
    wrong_when = "It rains."

    @property
    def severity(self):
        return self.grave

    @property
    def certainty(self):
        return self.sure


def test_findings_come_by_severity_then_share_then_certainty(monkeypatch):
    given = {
        "d": Made(grave="minor", share=0.1),
        "a": Made(grave="critical", share=0.5),
        "c": Made(grave="minor", share=0.1, sure="sure"),
        "b": Made(grave="minor", share=0.14),
    }
    rules = {
        name: Rule(id=name, title="", look=lambda _, one=one: one) for name, one in given.items()
    }
    monkeypatch.setattr("dbdyno.explain.explain.all_rules", lambda: rules)
    explanation = explain(made_run().loaded())
    assert [one.id for one in explanation.findings] == ["a", "b", "c", "d"]


def test_a_claim_becomes_a_finding_of_its_rule():
    rule = Rule(id="wet", title="It is wet", look=lambda _: Made(share=0.2, grave="major"))
    finding = outcome(rule, made_run().loaded())
    assert (finding.id, finding.title, finding.severity) == ("wet", "It is wet", "major")
    assert (finding.summary, finding.wrong_when) == ("It is so.", "It rains.")
    assert (finding.share, finding.share_of) == (0.2, "client time")
    assert finding.evidence == {"x": 1}


def test_without_a_share_a_claim_is_a_note():
    class Plain(Claim, frozen=True, kw_only=True):
        pass

    assert (Plain().severity, Plain().share_of) == ("note", "")
    assert Plain(share=0.2).severity == "major"


def test_evidence_lists_the_numbers_of_parts_in_their_place_and_no_asides():
    class Part(Evidence, frozen=True, kw_only=True):
        low: float
        hidden: Aside[str] = "aside"
        high: float

    class Whole(Claim, frozen=True, kw_only=True):
        first: int
        part: Part
        spread: tuple[float, float] | None
        last: Aside[int] = 7

    whole = Whole(first=1, part=Part(low=2.0, high=3.0), spread=(2.0, 3.0), share=0.5)
    assert list(whole.evidence.items()) == [
        ("first", 1),
        ("low", 2.0),
        ("high", 3.0),
        ("spread", (2.0, 3.0)),
    ]


def lines(indented):
    return laid_out(indented).split("\n")


def test_in_full_a_finding_has_all_its_parts_and_else_what_is_of_this_run():
    finding = a_finding(
        "a", share=0.25, seen=["Seen once."], advice=["Do that."], wrong_when="It rains."
    )
    not_looked = [
        UnevaluatedRule(id="x", title="X", reason="it was dark"),
        UnevaluatedRule(id="y", title="Y", reason="it was dark"),
    ]
    explanation = Explanation([finding, a_finding("b", "note")], not_looked, 0.5)
    assert lines(explanation_lines(explanation, every=False)) == [
        "MAJOR  Title of a  [a, hint]",
        "  It is so.",
        "  evidence: Seen once.",
        "  accounts for: 25 % of client time",
        "  try: Do that.",
        "",
        "note: Title of b. It is so.",
        "",
        "Unexplained: 50 % of client time; no finding accounts for it.",
        "",
        "2 rules could not look:",
        "  - it was dark (x, y)",
    ]
    assert lines(explanation_lines(Explanation([finding], not_looked, 0.5), every=True)) == [
        "MAJOR  Title of a  [a, hint]",
        "  It is so.",
        "  evidence",
        "    - Seen once.",
        "  accounts for",
        "    - 25 % of client time",
        "  try",
        "    - Do that.",
        "  wrong when",
        "    - It rains.",
        "",
        "Unexplained: 50 % of client time; no finding accounts for it.",
        "",
        "2 rules could not look:",
        "  - it was dark (x, y)",
    ]


def measured_record(**parts):
    return replace(made_run().loaded().record, duration_s=60.0, **parts)


def test_in_short_only_what_is_above_a_note():
    record = measured_record()
    findings = [a_finding("a", advice=["Do that.", "Or this."]), a_finding("b", "note")]
    assert lines(summary_lines(replace(record, findings=findings))) == [
        "major: Title of a. It is so.",
        "  try: Do that.",
        f"1 more: dbdyno explain {record.run_id}",
    ]
    assert summary_lines(record) == ["no finding above a note"]
    findings = [a_finding("c", "note", share=0.05), a_finding("b", "note", share=0.09)]
    assert lines(summary_lines(replace(record, findings=findings)))[0] == "no finding above a note"
    dark = [UnevaluatedRule(id="x", title="X", reason="nothing was measured")]
    assert summary_lines(replace(record, duration_s=0.0, not_looked=dark)) == [
        "nothing was measured"
    ]


def test_in_short_what_stopped_several_rules_is_said():
    def last_line(*reasons: str) -> str:
        rules = [UnevaluatedRule(id=id_, title=id_, reason=id_) for id_ in reasons]
        return lines(summary_lines(measured_record(not_looked=rules)))[-1]

    assert last_line("dark", "dark") == "2 rules could not look"
    assert last_line("dark", "dark", "dark") == "3 rules could not look: dark"
    assert last_line("dark", "cold", "dark", "dark") == "4 rules could not look, 3 of them: dark"


def test_in_short_the_largest_note_is_shown_if_nothing_is_above_a_note():
    """It may account for most of client time, as flushes to fast storage do."""
    record = measured_record()
    notes = [a_finding("a", "note", share=0.12), a_finding("b", "note", share=0.6)]
    loss = replace(a_finding("c", "note", share=0.9), share_of="lost throughput")
    assert lines(summary_lines(replace(record, findings=[*notes, loss])))[:2] == [
        "no finding above a note",
        "note: Title of b. It is so.",
    ]
    above = [a_finding("d", share=0.2), *notes]
    assert "Title of b" not in laid_out(summary_lines(replace(record, findings=above)))


def test_in_short_a_large_unexplained_rest_is_reported():
    def text_of(unexplained, *findings):
        parts = {"cpu": unexplained - 0.04, "not_seen": 0.03, "io": 0.01}
        record = measured_record(
            findings=list(findings), unexplained=unexplained, unexplained_as=parts
        )
        return lines(summary_lines(record))

    known = "26 % the server at work on a CPU, 3 %"
    remainder = [
        f"Unexplained: 30 % of client time; no finding accounts for it: {known}",
        "  seen by no sample.",
    ]
    assert text_of(0.3, a_finding("a"))[1:] == remainder
    assert len(text_of(0.09, a_finding("a"))) == 1
    assert text_of(0.3) == ["no finding above a note", *remainder]
