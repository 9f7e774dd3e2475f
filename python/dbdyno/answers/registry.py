"""Finds the answers: every module of ``answers/kinds`` declares one as ``ANSWER``."""

import pkgutil
from functools import cache
from importlib import import_module

from dbdyno.answers import kinds
from dbdyno.answers.answer import Answer


@cache
def all_answers() -> dict[str, Answer]:
    """Every answer by its id."""
    modules = pkgutil.iter_modules(kinds.__path__, f"{kinds.__name__}.")
    found: list[Answer] = [import_module(module.name).ANSWER for module in modules]
    return {answer.id: answer for answer in found}
