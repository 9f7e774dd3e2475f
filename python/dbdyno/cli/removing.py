"""Finds everything that is to be removed, before anything is. Removes nothing itself."""

from collections.abc import Callable, Iterable
from typing import TypeVar

Thing = TypeVar("Thing")


def all_found(words: Iterable[str], find: Callable[[str], Thing]) -> list[Thing]:
    """Return what each word means.

    Everything is found before anything is removed: a misspelt name, which ``find`` refuses, removes
    nothing.
    """
    return [find(word) for word in dict.fromkeys(words)]
