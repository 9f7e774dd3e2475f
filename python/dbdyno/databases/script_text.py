"""A statement of a script, as far as telemetry needs it: which parts are values or names."""

import re

from msgspec import Struct

from dbdyno.engine import Dialect, tokens

SETS_NUMBER = re.compile(r"^\s*\\set\s+(\w+)", re.MULTILINE)


def with_marks(text: str, dialect: Dialect) -> str:
    """Return the statement with a question mark for each value, and without comments."""
    marks = {"comment": "", "string": "?", "parameter": "?", "variable": "?", "number": "?"}
    return "".join(marks.get(token.kind, token.text) for token in tokens(text, dialect))


class Prepared(Struct, frozen=True):
    """A statement with ``$1``, ``$2`` … for its variables, in order of appearance."""

    text: str
    parameters: int


def prepared(text: str, dialect: Dialect) -> Prepared | None:
    """Return the statement in the form that can be prepared; None if there are several."""
    parts: list[str] = []
    parameters = 0
    for token in tokens(text.strip().rstrip(";"), dialect):
        if token.text == ";":
            return None
        is_variable = token.kind == "variable"
        parameters += is_variable
        parts.append(f"${parameters}" if is_variable else token.text)
    return Prepared("".join(parts), parameters)


def number_variables(script: str) -> frozenset[str]:
    r"""Return the variables that a script in pgbench's language sets to numbers, by ``\set``."""
    return frozenset(SETS_NUMBER.findall(script))


def with_variables(text: str, dialect: Dialect) -> str:
    """Return the text with variables in place of its numbered parameters.

    A question mark is left alone: only the server that prepares the statement knows whether it
    stands for a value (PostgreSQL has an operator ``?``).
    """
    return "".join(
        f":p{token.text[1:]}" if token.kind == "parameter" else token.text
        for token in tokens(text, dialect)
    )


def names(text: str, dialect: Dialect) -> set[str]:
    """Return every name in the text, alone and qualified: those of its tables are among them.

    What MySQL reads as a string in double quotes is a name too, as it is where the server's mode is
    ANSI_QUOTES.
    """
    found: set[str] = set()
    path: list[str] = []
    for token in tokens(text, dialect):
        if token.kind in ("word", "quoted_name") or token.text.startswith('"'):
            path.append(token.text)
            found |= {token.text, ".".join(path)}
        elif token.text != ".":
            path = []
    return found


def first_word(text: str, dialect: Dialect) -> str:
    """Return the first word, which identifies the kind of statement."""
    words = (token.text.lower() for token in tokens(text, dialect) if token.kind == "word")
    return next(words, "")
