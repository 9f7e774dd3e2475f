"""Which statement of the scripts a session runs, told from the text that the server shows.

The server shows what was sent: with placeholders or values where the script has variables.
So a statement is known by its literal beginning, up to its first variable, with each run of
blanks as one, and of that only the first part: servers cut the texts they show. Where two
begin alike the text cannot tell, and says so by naming both.
"""

import re
from collections.abc import Mapping

_VARIABLE = re.compile(r"(?<![:\w]):\w|\$\d|\?|%s")
_COMPARED_MAX = 80
_KNOWN_MAX = 10_000


class StatementTexts:
    """The statements of a run, by their numbers."""

    def __init__(self, statements: Mapping[int, str]) -> None:
        self._beginnings = [(number, *_beginning(sql)) for number, sql in statements.items()]
        self._known: dict[str, frozenset[int]] = {}

    def fitting(self, text: str) -> frozenset[int]:
        """The numbers of all statements that the text may be of."""
        found = self._known.get(text)
        if found is None:
            if len(self._known) >= _KNOWN_MAX:  # values within texts: they hardly come again
                self._known.clear()
            found = self._known[text] = self._search(_plain(text))
        return found

    def _search(self, text: str) -> frozenset[int]:
        return frozenset(
            number
            for number, beginning, is_whole in self._beginnings
            if (text == beginning if is_whole else text.startswith(beginning))
        )


def _beginning(sql: str) -> tuple[str, bool]:
    """The literal beginning of a statement, and whether that is all of it."""
    variable = _VARIABLE.search(sql)
    literal = _plain(sql if variable is None else sql[: variable.start()])
    return literal[:_COMPARED_MAX], variable is None and len(literal) <= _COMPARED_MAX


def _plain(text: str) -> str:
    return " ".join(text.split()).rstrip("; ")
