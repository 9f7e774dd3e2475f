"""What a statement of a script writes and compares, read from its tokens.

Not a parser: it recognizes the plain forms that transactions consist of, and returns nothing for
the rest. A rule that names a table or column by it has a second kind of evidence, or says that it
has none.

Statements that a script generated while it ran are recorded in one form for all that are alike:
``sbtest#`` stands for each of ``sbtest1``, ``sbtest2`` and so on.

A statement may name a table with its schema or leave it out, whatever telemetry does, and MySQL
does not distinguish the letters' case. :func:`fits` compares names.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from dbdyno.engine import Dialect, Token, tokens
from dbdyno.model.database import Database

_DIGITS = "#"
"""Stands for the digits at the end of a name."""
_DIGITS_OF_A_FORM = re.compile(r"(?<=\w)#(?!\w)")
_LIKE_A_LETTER = "♯"
"""Part of a name by every grammar: to MySQL, ``#`` begins a comment."""
_FOR_UPDATE = ("for update", "for no key update")
_NO_UPDATE_BEFORE = frozenset({"for", "key", "do"})
"""SELECT … FOR UPDATE, FOR NO KEY UPDATE, ON CONFLICT DO UPDATE."""
_NOT_WAITING = ("skip locked", "nowait")
_GROUPS = ("group by", "distinct", "union")
_SOME = ("limit", "fetch first", "fetch next")
_LIKE = (["like"], ["ilike"])
_SETS = ("select", "any", "all", "some", "or", "not", "union", "having")
_WHERE_ENDS = frozenset({"group", "order", "limit", "returning", "for", ";"})
_SET_ENDS = frozenset({"where", "from", "returning", ";"})
_BEFORE_TABLES = frozenset({"from", "join", "update", "into", "only", ","})
_DRAWN = frozenset({"variable", "parameter", "placeholder"})
"""What stands for a value that is drawn."""
_ARITHMETIC = _DRAWN | {"number", "word", "cast"}


def dialect_of(database: Database) -> Dialect:
    """Whose grammar the database reads; of one that is known by ODBC alone, the standard's."""
    return "standard" if database.protocol == "odbc" else database.protocol


def stands_for_many(written: str) -> bool:
    """Whether a name in a statement is the form of several names."""
    return written.endswith(_DIGITS)


def fits(written: str | None, name: str) -> bool:
    """Whether a name in a statement is this name, or stands for it among others."""
    if written is None:
        return False
    schema, _, own = written.casefold().rpartition(".")
    its_schema, _, its_own = name.casefold().rpartition(".")
    if schema and its_schema and schema != its_schema:
        return False
    if not stands_for_many(own):
        return own == its_own
    prefix = own.removesuffix(_DIGITS)
    return its_own.startswith(prefix) and its_own[len(prefix) :].isdecimal()


def the_one(written: str, names: Iterable[str]) -> str | None:
    """Which of these names it is; None if it is none of them, or stands for several."""
    fitting = [name for name in names if fits(written, name)]
    if written in fitting:
        return written
    return fitting[0] if len(fitting) == 1 else None


class _Name(NamedTuple):
    """A name with its qualifiers, and the place after it."""

    parts: Sequence[str]
    end: int

    @property
    def own(self) -> str:
        return self.parts[-1]

    @property
    def qualifier(self) -> str:
        return ".".join(self.parts[:-1])

    @property
    def table(self) -> str:
        """As telemetry has it: without a schema that need not be named."""
        return self.own if self.qualifier in ("", "public") else ".".join(self.parts)


@dataclass(frozen=True)
class Sql:
    """The text of a statement, or of several, and the grammar by which the server reads it."""

    text: str
    dialect: Dialect = "standard"

    @cached_property
    def _tokens(self) -> list[Token]:
        """All that means something to the server."""
        read = tokens(_DIGITS_OF_A_FORM.sub(_LIKE_A_LETTER, self.text), self.dialect)
        return [
            Token(kind, text.replace(_LIKE_A_LETTER, _DIGITS))
            for kind, text in read
            if kind not in ("space", "comment")
        ]

    @cached_property
    def _words(self) -> list[str]:
        """Keywords and symbols, to compare with; nothing for what is in quotes."""
        return [
            "" if kind in ("string", "quoted_name") else text.lower() for kind, text in self._tokens
        ]

    def _are(self, place: int, phrase: str) -> bool:
        """Whether these words stand here."""
        words = phrase.split()
        return self._words[place : place + len(words)] == words

    def _has(self, *phrases: str, start: int = 0) -> bool:
        """Whether one of these phrases occurs."""
        places = range(start, len(self._words))
        return any(self._are(place, phrase) for place in places for phrase in phrases)

    def _name(self, place: int) -> _Name | None:
        """The name that begins here."""
        parts: list[str] = []
        for at in range(place, len(self._tokens), 2):
            kind, text = self._tokens[at]
            if kind not in ("word", "quoted_name"):
                break
            # Others are folded to lower case, as PostgreSQL does.
            parts.append(text[1:-1] if kind == "quoted_name" else text.lower())
            if not self._are(at + 1, "."):
                return _Name(parts, at + 1)
        return _Name(parts, place + 2 * len(parts) - 1) if parts else None

    def _names(self, places: range) -> Iterator[_Name]:
        """Every name that begins at one of these places."""
        end = places.start
        for place in places:
            if place >= end and (name := self._name(place)):
                end = name.end
                yield name

    def _clauses(self, word: str, ends: frozenset[str]) -> list[range]:
        """The places after this word, up to a word that ends the clause or the query around it."""
        found: list[range] = []
        for start, begin in enumerate(self._words, 1):
            if begin == word and (not found or start > found[-1].stop):
                depth, end = 0, start
                for end in range(start, len(self._words) + 1):
                    after = self._words[end : end + 1]
                    depth += (after == ["("]) - (after == [")"])
                    if not after or depth < 0 or (depth == 0 and after[0] in ends):
                        break
                found.append(range(start, end))
        return found

    @cached_property
    def _wheres(self) -> list[range]:
        return self._clauses("where", _WHERE_ENDS)

    def _compares(self, place: int) -> bool:
        """Whether what ends before this place is compared for equality."""
        return self._are(place, "=") or self._are(place, "in (")

    @property
    def verb(self) -> str:
        """Its first word, in lower case."""
        return next(iter(self._words), "")

    @property
    def in_short(self) -> str:
        """Its verb and its first table, as a short name of the statement."""
        return " ".join([self.verb.upper(), *self.tables[:1]]).strip()

    @property
    def begins_transaction(self) -> bool:
        """Whether it opens a transaction block."""
        return self.verb in ("begin", "start")

    @property
    def ends_transaction(self) -> bool:
        """Whether it commits."""
        return self.verb in ("commit", "end")

    def _table_after(self, place: int) -> str | None:
        """The table that is named here, perhaps after ONLY."""
        name = self._name(place + self._are(place, "only"))
        return name.table if name else None

    @cached_property
    def _written(self) -> list[str]:
        found = []
        for place, word in enumerate(self._words):
            before = self._words[place - 1] if place else ""
            if word == "update" and before not in _NO_UPDATE_BEFORE:
                found.append(self._table_after(place + 1))
            elif self._are(place, "insert into") or self._are(place, "delete from"):
                found.append(self._table_after(place + 2))
            elif word == "copy" and (name := self._name(place + 1)):
                columns = self._words[name.end :]
                after = columns.index(")") + 1 if columns[:1] == ["("] and ")" in columns else 0
                found += [name.table] if columns[after : after + 1] == ["from"] else []
        return [table for table in found if table]

    @cached_property
    def tables(self) -> list[str]:
        """The tables that it writes and reads, each once."""
        read = [
            self._table_after(place)
            for place, word in enumerate(self._words, 1)
            if word in ("from", "join")
        ]
        return list(dict.fromkeys([*self._written, *filter(None, read)]))

    @property
    def written_table(self) -> str | None:
        """The table that it updates, inserts or copies into, or deletes from."""
        return next(iter(self._written), None)

    @property
    def locked_table(self) -> str | None:
        """The table whose rows a plain UPDATE changes or a SELECT … FOR UPDATE locks."""
        if self.verb == "update":
            return self.written_table
        return next(iter(self.tables), None) if self._has(*_FOR_UPDATE) else None

    @property
    def locks_nothing(self) -> bool:
        """Whether it only reads tables, or begins or ends a transaction.

        A SELECT without a table may call a function with any effect.
        """
        if self.verb != "select":
            return self.verb in ("begin", "start", "commit", "end", "rollback")
        return bool(self.tables) and not (self._written or self._has(*_FOR_UPDATE, "share"))

    @property
    def shares_rows(self) -> bool:
        """Whether it locks the rows that it reads in a mode that others may have too."""
        return self._has("for share", "for key share", "lock in share mode")

    @property
    def skips_locked(self) -> bool:
        """Whether it leaves out the rows that others have locked."""
        return self._has("skip locked")

    @property
    def locks_the_first(self) -> bool:
        """Whether it locks the first rows that qualify, as from a queue, and waits for them."""
        is_of_some = self._has(*_FOR_UPDATE) and self._has(*_SOME)
        return is_of_some and not self._has(*_NOT_WAITING)

    @property
    def assigned_columns(self) -> list[str]:
        """The columns that its SET assigns."""
        found: list[str] = []
        for clause in self._clauses("set", _SET_ENDS)[:1]:
            depth, targets = 0, clause.start
            for place in clause:
                word = self._words[place]
                depth += (word == "(") - (word == ")")
                if depth == 0 and word == "=":
                    found += [name.own for name in self._names(range(targets, place))]
                    targets = clause.stop  # what follows is the value
                elif depth == 0 and word == ",":
                    targets = place + 1
        return found

    def equal_columns(self, table: str = "") -> list[str]:
        """The columns that its WHERE compares for equality, without their tables.

        With a table, columns that the statement attributes to another one are omitted.
        """
        return list(
            dict.fromkeys(
                name.own
                for clause in self._wheres
                for name in self._names(clause)
                if self._compares(name.end)
                if not (name.qualifier and table) or self._is_of(name.qualifier, table)
            )
        )

    def joined_columns(self, table: str) -> list[str]:
        """The table's columns that it compares for equality with columns of other tables."""
        pairs = [
            (name, other)
            for name in self._names(range(len(self._words)))
            if self._are(name.end, "=") and (other := self._name(name.end + 1))
            if name.qualifier and other.qualifier
        ]
        own = (
            one.own
            for pair in pairs
            for one, other in (pair, pair[::-1])
            if self._is_of(one.qualifier, table) and not self._is_of(other.qualifier, table)
        )
        return list(dict.fromkeys(own))

    def _is_of(self, qualifier: str, table: str) -> bool:
        """Whether a column's qualifier means this table: as its alias, or by its name."""
        written = self._aliases.get(qualifier.casefold(), [qualifier])
        return any(fits(one, name) for one in written for name in (table, table.rpartition(".")[2]))

    @cached_property
    def _aliases(self) -> dict[str, list[str]]:
        """What may be a table's other name, with the tables."""
        found: dict[str, list[str]] = {}
        for place, word in enumerate(self._words, 1):
            name = self._name(place) if word in _BEFORE_TABLES else None
            alias = self._name(name.end + self._are(name.end, "as")) if name else None
            if name and alias:
                found.setdefault(alias.own.casefold(), []).append(name.table)
        return found

    @property
    def equal_calls(self) -> list[tuple[str, str]]:
        """Functions of one column whose result its WHERE compares for equality."""
        return [
            (".".join(called.parts), column.own)
            for clause in self._wheres
            for called in self._names(clause)
            if self._are(called.end, "(") and (column := self._name(called.end + 1))
            if self._are(column.end, ")") and self._compares(column.end + 1)
        ]

    @property
    def like_columns(self) -> list[str]:
        """The columns that its WHERE compares with a pattern, without their tables."""
        found = (name for clause in self._wheres for name in self._names(clause))
        like = (name for name in found if self._words[name.end : name.end + 1] in _LIKE)
        return list(dict.fromkeys(name.own for name in like))

    @property
    def first_by(self) -> str | None:
        """The column of its only table by which it wants the first few rows."""
        for place in range(len(self._words)):
            name = self._name(place + 2) if self._are(place, "order by") else None
            if name and self._is_followed_by_limit(name.end):
                is_grouped = self._has(*_GROUPS, "over (")
                return None if is_grouped or len(self.tables) != 1 else name.own
        return None

    def _is_followed_by_limit(self, place: int) -> bool:
        """Whether the first column of an ORDER BY, which ends here, and then others, are."""
        place += self._are(place, "asc") or self._are(place, "desc")
        place += 2 * self._are(place, "nulls")
        is_several = self._are(place, ",")
        return (
            self._has(*_SOME, start=place)
            if is_several
            else any(self._are(place, one) for one in _SOME)
        )

    @property
    def may_need_memory(self) -> bool:
        """Whether the server may have to sort or hash rows for it."""
        return self._has("order by", "join", *_GROUPS)

    @property
    def has_alternatives(self) -> bool:
        """Whether its WHERE joins conditions by OR."""
        return any(self._words[place] == "or" for clause in self._wheres for place in clause)

    @property
    def _chosen_by(self) -> list[Token]:
        """What stands for a value in its WHERE."""
        places = (place for clause in self._wheres for place in clause)
        return [one for one in (self._tokens[place] for place in places) if one.kind in _DRAWN]

    @property
    def chooses_rows(self) -> bool:
        """Whether a value in its WHERE decides which of the existing rows it matches."""
        return bool(self._chosen_by)

    @property
    def choosing_variables(self) -> set[str]:
        """The script's variables in its WHERE."""
        return {text[1:] for kind, text in self._chosen_by if kind == "variable"}

    @property
    def used_variables(self) -> set[str]:
        """The script's variables in it."""
        return {text[1:] for kind, text in self._tokens if kind == "variable"}

    @property
    def key_columns(self) -> list[str]:
        """The columns of its only table by whose values alone it finds the rows to read or update.

        Empty if it has other conditions, or wants the next row of a queue, which may be empty.
        """
        if self.verb not in ("select", "update") or len(self._wheres) != 1 or len(self.tables) != 1:
            return []
        (where,) = self._wheres
        if self._has(*_NOT_WAITING) or self.first_by or self._has(*_SETS, start=where.start):
            return []
        borders = [where.start - 1, *(at for at in where if self._are(at, "and")), where.stop]
        found = [self._equal_to_drawn(range(one + 1, end)) for one, end in pairwise(borders)]
        return [column for column in found if column] if all(found) else []

    def _equal_to_drawn(self, condition: range) -> str:
        """The column that a condition sets equal to an expression of a value; empty otherwise."""
        opened = next((at for at in condition if not self._are(at, "(")), condition.stop)
        name = self._name(opened)
        if name is None or not self._are(name.end, "="):
            return ""
        value = self._tokens[name.end + 1 : condition.stop]
        is_drawn = any(one.kind in _DRAWN for one in value)
        is_plain = all(kind in _ARITHMETIC or text in "+-*/%()." for kind, text in value)
        return name.own if is_drawn and is_plain else ""

    @property
    def uses_sequence(self) -> bool:
        """Whether it takes a number of a sequence, or depends on one that was taken."""
        return self._has("nextval (", "currval (", "setval (", "lastval (")
