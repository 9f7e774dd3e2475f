"""A study's answers, in the order of its file, and the verdict of their first claims.

An answer that fails is a defect of dbdyno: it reports so in its place and does not affect the
others.
"""

from collections.abc import Sequence
from functools import cache
from itertools import islice
from typing import TypeAlias

from msgspec.structs import replace

from dbdyno.answers import kinds
from dbdyno.answers.answer import Answer, Answered, Claim, Trials
from dbdyno.explain.sentences import capitalized
from dbdyno.model.study import Question, StudySpec
from dbdyno.registry import declared

CONTRASTS = "contrasts"
LIMITS = "limits"
SERVER_CPU = "server-cpu"
NOTHING_COMPARED = "the study compares nothing; add a [[contrast]] to its file"

Answers: TypeAlias = Sequence[tuple[Question, Answered]]


@cache
def all_answers() -> dict[str, Answer]:
    """Every answer by its id: each module of ``answers/kinds`` declares one as ``ANSWER``."""
    answers: list[Answer] = [*declared(kinds, "ANSWER").values()]
    return {answer.id: answer for answer in answers}


def answered(trials: Trials) -> list[tuple[Question, Answered]]:
    """Every answer that the study requests."""
    is_profiled = any(trial.record.server_profile for trial in trials.trials)
    asked = questions(trials.spec, is_profiled=is_profiled)
    return [(question, _guarded(question, trials)) for question in asked]


def questions(spec: StudySpec, *, is_profiled: bool) -> Sequence[Question]:
    """The questions of the file, then those that every study has and the file leaves out."""
    questions = list(spec.answers)
    asked = {question.answer for question in questions}
    if spec.contrasts and CONTRASTS not in asked:
        questions.append(Question(answer=CONTRASTS))
    if spec.contrasts and is_profiled and SERVER_CPU not in asked:
        questions.append(Question(answer=SERVER_CPU))
    if not questions:
        questions.append(Question(answer="table"))
    if LIMITS not in asked:
        questions.append(Question(answer=LIMITS))
    return questions


def title_of(question: Question) -> str:
    """The title of an answer: the file's own text, or that of its kind."""
    kind = all_answers().get(question.answer)
    return str(question.options.get("title") or (kind.title if kind else question.answer))


def verdict(answers: Answers) -> Claim:
    """The first claims of the answers that the file marks; else that of the first that judges.

    None, with the reason, if one of these lacks what it needs. The effect is that of the first.
    """
    if not answers:
        return Claim(sentence="No verdict: the study asks for no answer.", is_decided=False)
    judging = _judging(answers)
    missing = [answers[place][1].missing for place in judging if not answers[place][1].claims]
    if missing or not judging:
        reason = "; ".join(missing) or NOTHING_COMPARED
        return Claim(sentence=f"No verdict: {reason}.", is_decided=False)
    first, *others = (answers[place][1].claims[0] for place in judging)
    claims = [first, *others]
    return replace(
        first,
        sentence=" ".join(capitalized(claim.sentence) for claim in claims),
        is_decided=all(claim.is_decided for claim in claims),
        doubt=" ".join(capitalized(claim.doubt) for claim in claims if claim.doubt),
    )


def without_verdict(answers: Answers) -> Answers:
    """The answers without the claims of the verdict, which is shown before them."""
    judging = _judging(answers)
    return [
        (question, replace(answer, claims=answer.claims[1:]) if place in judging else answer)
        for place, (question, answer) in enumerate(answers)
    ]


def _judging(answers: Answers) -> list[int]:
    """Places of the answers that make the verdict."""
    known = all_answers()
    marked = [place for place, (question, _) in enumerate(answers) if question.verdict]
    unmarked = (
        place
        for place, (question, answer) in enumerate(answers)
        if (answer.claims or answer.missing)
        and (question.answer not in known or known[question.answer].judges)
    )
    return marked or [*islice(unmarked, 1)]


def _guarded(question: Question, trials: Trials) -> Answered:
    kind = all_answers().get(question.answer)
    if kind is None:
        return Answered(claims=[], missing=f"there is no answer called {question.answer}")
    if not trials.trials:
        return Answered(claims=[], missing="no run of this study is usable")
    try:
        return kind.answer(trials, question.options)
    except KeyError as error:
        if error.args[0] in kind.options.keys() - question.options.keys():
            return Answered(claims=[], missing=f"its option {error} is missing")
        return _failed(error)
    except Exception as error:
        return _failed(error)


def _failed(error: Exception) -> Answered:
    return Answered(
        claims=[], missing=f"internal error in this answer: {type(error).__name__}: {error}"
    )
