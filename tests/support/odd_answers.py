"""What a server may never return, in the answers to our own queries: one column after the other."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import pytest

ODD = {"null": None, "text": "odd", "huge": 10**400, "negative": -1}


class Column(NamedTuple):
    """A column of a query; ``query`` is its text, or the names of all its columns."""

    query: str
    place: int
    name: str
    has_names: bool
    """Whether the server returns words in it: any other text is one, too."""


class Answers:
    """What the server answers, and which columns of it are changed."""

    def __init__(self) -> None:
        self.seen: dict[Column, None] = {}
        self.changed: Sequence[Column] = ()
        self.value: Any = None

    def change(self, query: str, names: Sequence[str], rows: list[Any]) -> list[Any]:
        columns = [
            Column(query, place, name, all(_is_word(row[place]) for row in rows))
            for place, name in enumerate(names)
        ]
        if not self.changed:
            self.seen |= dict.fromkeys(columns)
        for column in self.changed:
            if column.query == query:
                place = column.place
                rows = rows or [(None,) * len(names)]
                return [(*row[:place], self.value, *row[place + 1 :]) for row in rows]
        return rows

    def change_those_of(self, connection: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        """Change what connections of this one's type receive."""
        execute = type(connection).execute

        def answered(connection: Any, query: Any, *given: Any, **how: Any) -> Any:
            cursor = execute(connection, query, *given, **how)
            if cursor.description is None:
                return cursor
            names = [column[0] for column in cursor.description]
            found = self.change(str(query), names, list(cursor.fetchall()))
            return _Rows(cursor.description, found)

        monkeypatch.setattr(type(connection), "execute", answered)


def _is_word(value: object) -> bool:
    return isinstance(value, str) and not value.replace(".", "", 1).isdigit()


class _Rows(list):
    """The rows of a cursor."""

    def __init__(self, description: Any, rows: list[Any]) -> None:
        super().__init__(rows)
        self.description = description

    def fetchall(self) -> list[Any]:
        return list(self)

    def fetchone(self) -> Any:
        return self[0] if self else None
