"""Where a loaded column's values come from: laws as data, which mirror ``generator.rs``.

Each is a function of the seed and of the row, so that the same seed loads the same data, on any
number of connections. A row has a number, which counts from 0 within its table. In a table whose
rows are children of others (``Table.per``), ``level`` 0 is the number of the ancestor, 1 that of
the child among its siblings, 2 that of the grandchild.

A decimal is an integer in units of its last digit, a date in days since 2000-01-01, a timestamp in
microseconds since then.
"""

import datetime
import re
from typing import TypeAlias

from msgspec import Struct

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"


def _tag(class_name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", class_name).lower()


class _Law(Struct, frozen=True, tag_field="is", tag=_tag):
    """What every law has: its name in ``generator.rs``."""


class Null(_Law, frozen=True):
    """Always NULL."""


class Sequence(_Law, frozen=True):
    """``start + step * number``."""

    start: int = 1
    step: int = 1
    level: int = 0


class Block(_Law, frozen=True):
    """``start + number // size``."""

    size: int
    start: int = 1


class Cycle(_Law, frozen=True):
    """``start + number // each % count``."""

    count: int
    each: int = 1
    start: int = 1


class Permutation(_Law, frozen=True):
    """Each ``size`` consecutive numbers get ``start``, ``start + step`` … in random order."""

    size: int
    start: int = 1
    step: int = 1
    level: int = 0


class Random(_Law, frozen=True):
    """Uniform between the two, both included."""

    low: int
    high: int


class NonUniform(_Law, frozen=True):
    """TPC's ``NURand(a, low, high)`` with the constant ``c``."""

    a: int
    c: int
    low: int
    high: int


class Zipf(_Law, frozen=True):
    """The k-th value from ``low`` on has the weight ``1 / k ** exponent``."""

    low: int
    high: int
    exponent: float


class Number(_Law, frozen=True):
    """Always this number."""

    value: int


class Sum(_Law, frozen=True):
    """The sum of numbers."""

    of: "tuple[Generator, ...]"


class Hash(_Law, frozen=True):
    """The 64-bit FNV-1a hash of a number, without its sign."""

    of: "Generator"


class Constant(_Law, frozen=True):
    """Always this text."""

    text: str


class Numbered(_Law, frozen=True):
    """This text, followed by ``start + number``."""

    prefix: str
    start: int = 1


class Padded(_Law, frozen=True):
    """A number as text with at least ``width`` digits, zeros before it."""

    of: "Generator"
    width: int


class Template(_Law, frozen=True):
    """A text with each ``#`` a random digit and each ``@`` a random lower-case letter."""

    pattern: str


class Text(_Law, frozen=True):
    """Random text, from ``shortest`` to ``longest`` characters of ``symbols`` (ASCII) long.

    If ``containing`` is not empty, it stands somewhere in it.
    """

    shortest: int
    longest: int
    symbols: str = LETTERS
    containing: str = ""


class LastName(_Law, frozen=True):
    """TPC-C's last name of a number from 0 to 999: a syllable for each digit."""

    of: "Generator"


class Joined(_Law, frozen=True):
    """Texts and numbers, one after the other."""

    parts: "tuple[Generator, ...]"


class Field(Struct, frozen=True):
    """A member of a JSON object."""

    name: str
    of: "Generator"


class Json(_Law, frozen=True):
    """A JSON object."""

    fields: tuple[Field, ...]


class Shared(_Law, frozen=True):
    """The same value wherever this key stands: in another column, or another table's row.

    Descendants share the value of their ancestor at ``level``.
    """

    key: str
    of: "Generator"
    level: int = 0


class Split(_Law, frozen=True):
    """``then`` for the ``first`` of ``each`` so many rows, ``otherwise`` for the rest."""

    each: int
    first: int
    then: "Generator"
    otherwise: "Generator"


class Choice(Struct, frozen=True):
    """One of several laws, and its share among all weights."""

    weight: int
    of: "Generator"


class OneOf(_Law, frozen=True):
    """One of several laws, chosen at random by weight."""

    choices: tuple[Choice, ...]


Generator: TypeAlias = (
    Null
    | Sequence
    | Block
    | Cycle
    | Permutation
    | Random
    | NonUniform
    | Zipf
    | Number
    | Sum
    | Hash
    | Constant
    | Numbered
    | Padded
    | Template
    | Text
    | LastName
    | Joined
    | Json
    | Shared
    | Split
    | OneOf
)

NULL = Null()
_DIGITS = 8  # of a number as text, about


def days(date: datetime.date) -> int:
    """Return a date as a number, for a column of dates."""
    return (date - datetime.date(2000, 1, 1)).days


def mean_number(law: Generator) -> float:
    """Return the average of a law of numbers, as far as it is known without the data."""
    match law:
        case Random(low, high) | NonUniform(low=low, high=high):
            return (low + high) / 2
        case Number(value):
            return value
        case Sum(of):
            return sum(mean_number(part) for part in of)
        case Shared(of=one):
            return mean_number(one)
        case OneOf(choices):
            weights = sum(choice.weight for choice in choices)
            return sum(choice.weight * mean_number(choice.of) for choice in choices) / weights
        case _:
            return 0.0


def mean_length(law: Generator) -> float:  # noqa: C901, PLR0911, PLR0912 (a case for each)
    """Return the average length of a law's values as text; NULL has none."""
    match law:
        case Null():
            return 0.0
        case Constant(text) | Template(text):
            return len(text)
        case Numbered(prefix):
            return len(prefix) + _DIGITS
        case Padded(_, width):
            return width
        case Text(shortest, longest):
            return (shortest + longest) / 2
        case LastName():
            return 12.3  # three syllables
        case Joined(parts):
            return sum(mean_length(part) for part in parts)
        case Json(fields):
            return 2 + sum(len(field.name) + 6 + mean_length(field.of) for field in fields)
        case Shared(of=one):
            return mean_length(one)
        case Split(each, first, then, otherwise):
            share = first / each
            return share * mean_length(then) + (1 - share) * mean_length(otherwise)
        case OneOf(choices):
            weights = sum(choice.weight for choice in choices)
            return sum(choice.weight * mean_length(choice.of) for choice in choices) / weights
        case Number(value):
            return len(str(value))
        case _:
            return _DIGITS


def value_at(law: Generator, number: int) -> int | None:
    """Return the value at a row's number, or its first child's; None if chance decides."""
    match law:
        case Sequence(start, step, level):
            return start + step * number if level == 0 else start
        case Block(size, start):
            return start + number // size
        case Cycle(count, each, start):
            return start + number // each % count
        case Number(value):
            return value
        case _:
            return None
