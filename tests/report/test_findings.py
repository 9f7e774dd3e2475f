"""Findings and costs, on the page and as text."""

import msgspec
import pytest

from dbdyno.report.costs import cost_text
from dbdyno.report.pages.run import run_page
from dbdyno.report.render_html import phrases, render_html
from dbdyno.report.sections.findings import bearing
from tests.report import explained
from tests.report.pages import section_of


def test_findings_come_first_and_the_gravest_first(ordinary):
    page = render_html(run_page(ordinary))
    places = [page.index(f">{finding.title}</a></h3>") for finding in explained.FINDINGS[:2]]
    assert places == sorted(places)
    assert places[1] < page.index('<section id="throughput"')


def test_a_finding_shows_all_that_it_rests_on(ordinary):
    shown = section_of(ordinary, "findings")
    finding = explained.FINDINGS[0]
    for text in (finding.summary, *finding.seen, finding.why, finding.gain, finding.wrong_when):
        assert text.replace(" %", "\u202f%") in shown
    assert "61\u202f% of client time · sure: two kinds of evidence agree" in shown
    assert "<code>dbdyno run tpcb -s 50 -c 8 -T 60</code>" in shown


def test_a_proposed_script_is_shown_as_it_would_be_typed(ordinary):
    proposal = {"scripts": {"tpcb": "BEGIN;\nSELECT '<b>';\nEND;\n"}}
    finding = msgspec.structs.replace(explained.FINDINGS[0], evidence=proposal)
    shown = section_of(ordinary, "findings", findings=[finding])
    assert "tpcb, as advised" in shown
    assert "<pre tabindex=\"0\">BEGIN;\nSELECT '<b>';\nEND;" in shown


def test_notes_and_rules_that_could_not_look_are_folded(ordinary):
    shown = section_of(ordinary, "findings")
    folded = shown[shown.index('<details class="folded">') :]
    assert explained.FINDINGS[2].title in folded
    assert "1 rule could not look" in folded
    assert explained.NOT_LOOKED[0].reason in folded


def test_a_clean_run_is_reported_as_such(ordinary):
    shown = section_of(ordinary, "findings", findings=explained.FINDINGS[2:], unexplained=0.03)
    assert "No finding above severity note" in shown
    assert "Unexplained: 3\u202f% of client time; no finding accounts for it" in shown


def test_a_run_whose_time_a_note_accounts_for_is_not_said_to_have_no_cause(ordinary):
    note = msgspec.structs.replace(explained.FINDINGS[0], severity="note")
    shown = section_of(ordinary, "findings", findings=[note], unexplained=0.03)
    assert f"No finding above severity note; the largest: {note.title}." in shown
    assert "no rule sees a cause" not in shown


def test_a_large_rest_is_given_with_its_parts(ordinary):
    parts = {"cpu": 0.3, "io": 0.01}
    shown = section_of(ordinary, "findings", unexplained=0.31, unexplained_as=parts)
    assert "no finding accounts for it: 30\u202f% the server at work on a CPU." in shown
    shown = section_of(ordinary, "findings", unexplained=0.09, unexplained_as={"cpu": 0.09})
    assert "no finding accounts for it." in shown


def test_a_run_that_few_rules_could_examine_is_not_called_clean(ordinary):
    """Notes describe how the run was made: they appear without telemetry, too."""
    shown = section_of(ordinary, "findings", findings=explained.FINDINGS[2:], unexplained=None)
    assert "No finding above severity note, but some rules could not look." in shown
    assert "limits this run" not in shown


def test_a_rest_that_rounds_to_zero_is_given_in_words(ordinary):
    shown = section_of(ordinary, "findings", unexplained=0.004)
    assert "Unexplained: nothing; the findings' shares of client time may overlap" in shown
    assert "no finding accounts" not in shown


def test_a_run_that_was_never_explained_claims_nothing(unwatched):
    assert section_of(unwatched, "findings") == ""
    assert section_of(unwatched, "costs") == ""


def test_costs_stand_with_their_intervals_and_by_script(ordinary):
    of_script = explained.cost("wal_bytes", "WAL", "B", "server", value=999.0, script="pay")
    shown = section_of(ordinary, "costs", costs=[*explained.COSTS, of_script])
    assert "600\u202fµs to 624\u202fµs" in shown
    assert "Per transaction of pay" in shown
    assert "whole load" not in shown


def test_costs_of_the_whole_load_are_said_to_be_and_the_others_named(ordinary):
    cpu, *others = (msgspec.structs.replace(cost, window="load") for cost in explained.COSTS)
    shown = section_of(ordinary, "costs", costs=[cpu, *others])
    assert "Counted over the whole load" in shown
    assert "alone" not in shown
    cpu = msgspec.structs.replace(cpu, window="measured")
    of_script = msgspec.structs.replace(cpu, script="pay")
    shown = section_of(ordinary, "costs", costs=[cpu, *others, of_script])
    assert "Over the measured intervals alone: Server CPU, costs of single scripts." in shown


@pytest.mark.parametrize(
    ("unit", "value", "written"),
    [
        ("µs", 1234.0, "1.23 ms"),
        ("B", 2048.0, "2 KiB"),
        ("", 7.0, "7"),
        ("buffers", 38.2, "38.2 buffers"),
    ],
)
def test_a_cost_is_written_in_its_unit(unit, value, written):
    found = cost_text(explained.cost("any", "Any", unit, "server", value=value))
    assert found.replace("\u202f", " ") == written


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("plain", [("plain", False)]),
        ("dbdyno run tpcb -c 4", [("dbdyno run tpcb -c 4", True)]),
        ("Use `-c 4` or less", [("Use ", False), ("-c 4", True), (" or less", False)]),
        ("one ` alone", [("one ` alone", False)]),
        ("5 % of `a % 5`", [("5\u202f% of ", False), ("a % 5", True)]),
    ],
)
def test_code_is_distinguished_from_prose(text, parts):
    assert phrases(text) == parts


def test_a_share_that_is_not_known_is_not_written(ordinary):
    assert bearing(explained.FINDINGS[2]) == "A hint"
    shown = section_of(ordinary, "findings", unexplained=None)
    assert "Unexplained: not known, because" in shown
