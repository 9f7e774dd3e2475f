"""What is asked to be removed, found as a whole. Removes nothing itself."""

from collections.abc import Callable, Iterable
from typing import TypeVar

Thing = TypeVar("Thing")


def all_found(words: Iterable[str], find: Callable[[str], Thing]) -> list[Thing]:
    """What each word means.

    All is found before the first of it is removed: a slip of the pen, which ``find`` refuses,
    removes nothing.
    """
    return [find(word) for word in dict.fromkeys(words)]
