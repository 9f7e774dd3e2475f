"""Answers in the order of the study file, their verdict, and answers that fail."""

import msgspec
import pytest

from dbdyno.answers.answer import Answer, Answered, Claim
from dbdyno.answers.answering import all_answers, answered, verdict, without_verdict
from dbdyno.model.study import Question
from tests.answers import made

SPEC = made.spec(made.factor("clients", 1, 4), repeats=2)


def of(*questions):
    return made.study(msgspec.structs.replace(SPEC, answers=questions), lambda _levels: 1000.0)


def test_every_kind_of_answer_documents_its_name_and_options():
    for name, kind in all_answers().items():
        assert kind.id == name
        assert kind.title
        assert all(kind.options.values())


def test_the_verdict_is_the_first_claim_of_the_first_answer(monkeypatch):
    first, second = (
        Claim(sentence="first", is_decided=True),
        Claim(sentence="second", is_decided=True),
    )
    kinds = {
        "one": Answer(id="one", title="", answer=lambda *_: Answered(claims=[first, second])),
        "two": Answer(id="two", title="", answer=lambda *_: Answered(claims=[second])),
    }
    monkeypatch.setattr("dbdyno.answers.answering.all_answers", lambda: kinds)
    assert (
        verdict(answered(of(Question(answer="one"), Question(answer="two")))).sentence == "First."
    )
    assert (
        verdict(answered(of(Question(answer="two"), Question(answer="one")))).sentence == "Second."
    )


def test_the_marked_answers_make_the_verdict_together(monkeypatch):
    claims = {
        "one": Claim(sentence="first.", is_decided=True, effect=2.0),
        "two": Claim(sentence="second.", is_decided=False, doubt="few runs."),
        "three": Claim(sentence="third.", is_decided=True, effect=3.0),
    }
    kinds = {
        name: Answer(id=name, title="", answer=lambda *_, its=claim: Answered(claims=[its]))
        for name, claim in claims.items()
    }
    monkeypatch.setattr("dbdyno.answers.answering.all_answers", lambda: kinds)
    marked = [Question(answer=name, verdict=name != "one") for name in kinds]
    answers = answered(of(*marked))
    found = verdict(answers)
    assert found.sentence == "Second. Third."
    assert (found.is_decided, found.effect, found.doubt) == (False, None, "Few runs.")
    left = [len(answer.claims) for _, answer in without_verdict(answers)][:3]
    assert left == [1, 0, 0]


def test_an_answer_that_only_shows_leaves_the_verdict_to_the_next():
    questions = (Question(answer="table"), Question(answer="scaling-law"))
    found = verdict(answered(of(*questions)))
    assert found.sentence.startswith("No verdict: the law needs")
    assert "compares nothing" in verdict(answered(of(questions[0]))).sentence


def test_a_verdict_that_cannot_be_had_says_why():
    found = verdict(answered(of(Question(answer="scaling-law"))))
    assert not found.is_decided
    assert found.sentence.startswith("No verdict: the law needs at least 4 numbers of clients")


def test_an_answer_that_fails_reports_it_and_affects_no_other(monkeypatch):
    def fail(*_):
        raise ValueError("of no use")

    broken = Answer(id="broken", title="", answer=fail)
    kinds = all_answers() | {"broken": broken}
    monkeypatch.setattr("dbdyno.answers.answering.all_answers", lambda: kinds)
    both = of(Question(answer="broken"), Question(answer="table"))
    (_, failed), (_, table), _ = answered(both)
    assert failed.missing == "internal error in this answer: ValueError: of no use"
    assert table.shown


def test_without_a_run_nothing_is_claimed():
    trials = msgspec.structs.replace(of(Question(answer="table")), trials=())
    (_, nothing), _ = answered(trials)
    assert nothing.missing == "no run of this study is usable"


def test_a_missing_option_of_an_answer_is_named():
    (_, lacking), _ = answered(of(Question(answer="curve")))
    assert lacking.missing == "its option 'over' is missing"


CONTRAST = made.contrast("clients", "1", "4")


@pytest.mark.parametrize(
    ("contrasts", "answers", "expected"),
    [
        ((), (), ["table", "limits"]),
        ((CONTRAST,), (), ["contrasts", "limits"]),
        ((CONTRAST,), ("table",), ["table", "contrasts", "limits"]),
        ((CONTRAST,), ("limits", "contrasts", "table"), ["limits", "contrasts", "table"]),
    ],
)
def test_contrasts_and_limits_are_answered_whether_requested_or_not(contrasts, answers, expected):
    questions = tuple(Question(answer=name) for name in answers)
    spec = msgspec.structs.replace(SPEC, contrasts=contrasts, answers=questions)
    trials = made.study(spec, lambda _levels: 1000.0)
    assert [question.answer for question, _ in answered(trials)] == expected
