"""A statement of a script, parsed as far as telemetry needs: which parts are values or names.

Only the tokens are recognized; SQL itself is left to the server. pgbench's variables are ``:name``,
but not within quotes or comments, and ``::`` is a cast.
"""

import re
from collections.abc import Iterator

from msgspec import Struct

PIECES = re.compile(
    r"""
      (?P<comment> --[^\n]* | /\*.*?\*/ )
    | (?P<string> [eE]'(?:[^'\\]|\\.|'')*' | '(?:[^']|'')*' | \$(?P<tag>\w*)\$.*?\$(?P=tag)\$ )
    | (?P<name> "(?:[^"]|"")+" | `(?:[^`]|``)+` | [^\W\d][\w$]* )
    | (?P<parameter> \$\d+ )
    | (?P<cast> :: )
    | (?P<variable> :[^\W\d]\w* )
    | (?P<number> \d+(?:\.\d*)?(?:[eE][+-]?\d+)? | \.\d+ )
    | (?P<other> . )
    """,
    re.VERBOSE | re.DOTALL,
)

SETS_NUMBER = re.compile(r"^\s*\\set\s+(\w+)", re.MULTILINE)


class Piece(Struct, frozen=True):
    """A token and its kind, the name of a group of ``PIECES``."""

    kind: str
    text: str


def pieces(text: str) -> Iterator[Piece]:
    """Yield all tokens of the text, in order."""
    for match in PIECES.finditer(text):
        assert match.lastgroup is not None  # one alternative matches any character
        yield Piece(match.lastgroup, match[0])


def with_marks(text: str) -> str:
    """Return the statement with a question mark for each value, and without comments."""
    marks = {"comment": "", "string": "?", "parameter": "?", "variable": "?", "number": "?"}
    return "".join(marks.get(piece.kind, piece.text) for piece in pieces(text))


class Prepared(Struct, frozen=True):
    """A statement with ``$1``, ``$2`` … for its variables, in order of appearance."""

    text: str
    parameters: int


def prepared(text: str) -> Prepared | None:
    """Return the statement in the form that can be prepared; None if there are several."""
    parts: list[str] = []
    parameters = 0
    for piece in pieces(text.strip().rstrip(";")):
        if piece.text == ";":
            return None
        is_variable = piece.kind == "variable"
        parameters += is_variable
        parts.append(f"${parameters}" if is_variable else piece.text)
    return Prepared("".join(parts), parameters)


def number_variables(script: str) -> frozenset[str]:
    r"""Return the variables that a script in pgbench's language sets to numbers, by ``\set``."""
    return frozenset(SETS_NUMBER.findall(script))


def with_variables(text: str) -> str:
    """Return the text with variables in place of its numbered parameters.

    A question mark is left alone: only the server that prepares the statement knows whether it
    stands for a value (PostgreSQL has an operator ``?``).
    """
    return "".join(
        f":p{piece.text[1:]}" if piece.kind == "parameter" else piece.text for piece in pieces(text)
    )


def names(text: str) -> set[str]:
    """Return every name in the text, alone and qualified: those of its tables are among them."""
    found: set[str] = set()
    path: list[str] = []
    for piece in pieces(text):
        if piece.kind == "name":
            path.append(piece.text)
            found |= {piece.text, ".".join(path)}
        elif piece.text != ".":
            path = []
    return found


def first_word(text: str) -> str:
    """Return the first word, which identifies the kind of statement."""
    return next((piece.text.lower() for piece in pieces(text) if piece.kind == "name"), "")
