"""Which subsystem and which function of the server differ between the variants of a study."""

import random

from msgspec.structs import replace

from dbdyno.answers.answer import ProfileOf
from dbdyno.answers.answering import answered, verdict
from dbdyno.answers.kinds import server_cpu
from dbdyno.report.pages.study.object import study_object
from dbdyno.report.pages.study.page import study_page
from dbdyno.report.render_html import render_html
from dbdyno.report.render_markdown import render_markdown
from dbdyno.report.render_text import render_text
from tests.answers import made
from tests.report.explained import FUNCTIONS
from tests.support.profiles import profile

CONTRAST = made.contrast("build", "main", "mine")
SPEC = made.spec(
    made.factor("build", "main", "mine"),
    made.factor("clients", "1", "8"),
    repeats=5,
    contrasts=(CONTRAST,),
)


def study(slower_us, profiled=lambda _trial: True):
    """``slower_us`` maps the levels of a point to what palloc takes in addition."""
    trials = made.study(SPEC, lambda _levels: 1000.0)
    chance = random.Random(4)
    for trial in trials.trials:
        us = FUNCTIONS | {("memory", "palloc"): 2.0 + slower_us(trial.point)}
        noisy = {name: value * chance.gauss(1.0, 0.02) for name, value in us.items()}
        if profiled(trial):
            trial.record = replace(trial.record, server_profile=profile(noisy))
    return trials


def slower_with_8(levels):
    return 2.0 if levels == {"build": "mine", "clients": "8"} else 0.0


def unbroken(text):
    return " ".join(text.split())


def test_the_function_that_got_slower_is_named_where_it_is_slower():
    found = server_cpu.answer(study(slower_with_8), {})
    (claim,) = found.claims
    assert claim.sentence.startswith(
        "Build mine against main at clients 8, server CPU per transaction: memory allocation +"
    )
    assert "), mostly palloc +" in claim.sentence
    assert claim.sentence.count("palloc") == 1
    table, drawn = found.shown
    assert [(*row[:2], row[-1]) for row in table.rows if row[-2] == "*"] == [
        ("Build mine against main at clients 8", "memory allocation", "palloc")
    ]
    assert len({row[0] for row in table.rows}) == 2
    assert isinstance(drawn, ProfileOf)
    assert drawn.functions[0].function == "palloc"


def test_nothing_is_named_where_nothing_differs():
    found = server_cpu.answer(study(lambda _levels: 0.0), {})
    (claim,) = found.claims
    assert not claim.is_decided
    assert all(row[-2] != "*" for row in found.shown[0].rows)


def test_all_contrasts_at_all_levels_are_judged_together():
    """A study of two comparisons tests twice as many functions as each of them."""
    found = study_object(trials := study(slower_with_8), answered(trials))
    both = [one["server_functions"] for one in found["comparisons"]]
    number = sum(map(len, both))
    assert number == 2 * len(FUNCTIONS)
    least = min((part for its in both for part in its), key=lambda part: part["p"])
    assert least["function"] == "palloc"
    assert least["p_adjusted"] == least["p"] * number


def test_every_study_with_profiles_has_it_in_all_its_forms():
    trials = study(slower_with_8)
    answers = answered(trials)
    assert [question.answer for question, _ in answers] == ["contrasts", "server-cpu", "limits"]
    assert "palloc" not in verdict(answers).sentence
    page = study_page(trials, answers)
    for text in (render_text(page), render_markdown(page), render_html(page)):
        assert "Where the server's CPU time differs" in text.replace("&#39;", "'")
        assert "palloc" in text
    (_, shown, _) = study_object(trials, answers)["answers"]
    assert [one["kind"] for one in shown["shown"]] == ["table", "profile"]


def test_a_contrast_with_a_run_that_was_not_profiled_is_left_out():
    first = study(slower_with_8, profiled=lambda trial: trial.point["clients"] == "8")
    (title,) = {row[0] for row in server_cpu.answer(first, {}).shown[0].rows}
    assert title.endswith("at clients 8")
    none = study(slower_with_8, profiled=lambda _trial: False)
    assert "--telemetry full" in server_cpu.answer(none, {}).missing
    assert "server-cpu" not in [question.answer for question, _ in answered(none)]
