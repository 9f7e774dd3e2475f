"""Finds what several names mean, before anything is done with it. Changes nothing itself."""

from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")


def find_all(names: Iterable[str], find: Callable[[str], T]) -> list[T]:
    """Return what each name means.

    Everything is found before anything is removed: a misspelt name, which ``find`` refuses, removes
    nothing.
    """
    return [find(name) for name in dict.fromkeys(names)]
