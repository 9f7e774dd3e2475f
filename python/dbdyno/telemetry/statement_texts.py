"""Which statement of the scripts a session runs, from the text that the server shows.

The server shows what was sent: with placeholders or values where the script has variables. A
statement is therefore recognized by its form, in which a value may stand wherever the script has a
variable; of a long form only the first part is compared. Servers truncate the texts they show: a
text that matches no whole form is recognized by its literal beginning, up to the first variable. If
several statements begin alike, the text is ambiguous, and all of them are returned.

Statements that a script generates while it runs are added as they come.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

_VARIABLE = re.compile(r"(?<![:\w]):\w+|\$\d+|\?(?:, …)?|%s")
_ROWS = "), …"
_VALUE = r"(?:'(?:[^'\\]|\\.|'')*'|\?|\$\d+|:\w+|[-+]?[\w.]+)"
_VALUES = rf"{_VALUE}(?:\s*,\s*{_VALUE})*"
_COMPARED_MAX = 200
_BEGINNING_MAX = 80
_KNOWN_MAX = 10_000


class StatementTexts:
    """The statements of a run, by their numbers."""

    def __init__(self, statements: Mapping[int, str]) -> None:
        self._forms: list[_Form] = []
        self._known: dict[str, frozenset[int]] = {}
        for number, sql in statements.items():
            self.add(number, sql)

    def add(self, number: int, sql: str) -> None:
        """Add a statement; a concurrent call of :meth:`fitting` sees the old or the new set."""
        self._forms.append(_form(number, sql))
        self._known = {}

    def fitting(self, text: str) -> frozenset[int]:
        """Return the numbers of all statements to which the text may belong."""
        known = self._known
        found = known.get(text)
        if found is None:
            if len(known) >= _KNOWN_MAX:  # texts that contain values, which hardly ever recur
                known.clear()
            found = known[text] = self._search(_plain(text))
        return found

    def _search(self, text: str) -> frozenset[int]:
        whole = frozenset(form.number for form in self._forms if form.whole.match(text))
        if whole:
            return whole
        return frozenset(
            form.number for form in self._forms if form.beginning and form.beginning.match(text)
        )


class _Form(NamedTuple):
    """The pattern of a statement's text, and of its beginning unless that is the whole text."""

    number: int
    whole: re.Pattern[str]
    beginning: re.Pattern[str] | None


def _form(number: int, sql: str) -> _Form:
    text = _plain(sql)
    variable = _VARIABLE.search(text)
    literal = (text if variable is None else text[: variable.start()])[:_BEGINNING_MAX]
    beginning = None if literal == text else re.compile(_literal(literal.rstrip()))
    return _Form(number, _whole(text), beginning)


def _whole(text: str) -> re.Pattern[str]:
    """Return the pattern of a text: of a long one only the first part, with any number of rows."""
    first, rows, _ = text.partition(_ROWS)
    compared = first[:_COMPARED_MAX]
    is_all = not rows and compared == first
    parts, end = [], 0
    for variable in _VARIABLE.finditer(compared):
        parts += [_literal(compared[end : variable.start()]), _values(variable[0])]
        end = variable.end()
    parts.append(_literal(compared[end:]))
    return re.compile("".join(parts) + (r"\Z" if is_all else ""))


def _values(variable: str) -> str:
    return _VALUES if variable.endswith("…") else _VALUE


def _literal(text: str) -> str:
    """Return the pattern of literal text, in which ``#`` stands for any digits."""
    return re.escape(text).replace(r"\#", r"(?:\d+|\#)")


def _plain(text: str) -> str:
    return " ".join(text.split()).rstrip("; ")
