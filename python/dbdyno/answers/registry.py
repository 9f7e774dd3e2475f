"""Finds the answers: every module of ``answers/kinds`` declares one as ``ANSWER``."""

from functools import cache

from dbdyno.answers import kinds
from dbdyno.answers.answer import Answer
from dbdyno.registry import declared


@cache
def all_answers() -> dict[str, Answer]:
    """Every answer by its id."""
    answers: list[Answer] = [*declared(kinds, "ANSWER").values()]
    return {answer.id: answer for answer in answers}
