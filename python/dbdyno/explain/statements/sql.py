"""What a statement of a script writes and compares, read from its text.

Not a parser: it recognizes the plain forms that transactions consist of, and returns nothing for
the rest. A rule that names a table or column by it has a second kind of evidence, or says that it
has none.

Statements that a script generated while it ran are recorded in one form for all that are alike:
``sbtest#`` stands for each of ``sbtest1``, ``sbtest2`` and so on.

A statement may name a table with its schema or leave it out, whatever telemetry does, and MySQL
does not distinguish the letters' case. :func:`fits` compares names.
"""

import re
from collections.abc import Iterable

from dbdyno.engine import tokens

_NAME = r'(?:"[^"]+"|`[^`]+`|\w+#?)'
_QUALIFIED = rf"{_NAME}(?:\.{_NAME})?"
# Not the UPDATE of SELECT … FOR UPDATE, FOR NO KEY UPDATE or ON CONFLICT DO UPDATE.
_UPDATE = r"(?<!\bfor\s)(?<!\bkey\s)(?<!\bdo\s)\bupdate\s+(?:only\s+)?"
_INSERT, _DELETE = r"\binsert\s+into\s+", r"\bdelete\s+from\s+(?:only\s+)?"
_COPY = rf"\bcopy\s+(?={_QUALIFIED}\s*(?:\([^()]*\)\s*)?from\b)"
_WRITES = re.compile(rf"(?:{_UPDATE}|{_INSERT}|{_DELETE}|{_COPY})({_QUALIFIED})", re.I)
_READS = re.compile(rf"\b(?:from|join)\s+(?:only\s+)?({_QUALIFIED})", re.I)
_SET = re.compile(r"\bset\b(.*?)(?:\bwhere\b|\bfrom\b|\breturning\b|$)", re.I | re.DOTALL)
_WHERE = re.compile(
    r"\bwhere\b(.*?)(?:\bgroup\b|\border\b|\blimit\b|\breturning\b|\bfor\b|$)", re.I | re.DOTALL
)
_COMMIT = re.compile(r"\s*(?:commit|end)\b", re.I)
_CONTROL = re.compile(r"\s*(?:begin|start|commit|end|rollback)\b", re.I)
_LOCKING = re.compile(r"\bfor\s+(?:no\s+key\s+)?update\b|\bshare\b", re.I)
"""FOR UPDATE, FOR SHARE and variants, LOCK IN SHARE MODE."""
_FOR_UPDATE = re.compile(r"\bfor\s+(?:no\s+key\s+)?update\b", re.I)
_FOR_SHARE = re.compile(r"\bfor\s+(?:key\s+)?share\b|\block\s+in\s+share\s+mode\b", re.I)
_SOME = re.compile(r"\b(?:limit|fetch\s+(?:first|next))\b", re.I)
_FIRST_BY = re.compile(
    rf"\border\s+by\s+({_QUALIFIED})(?:\s+(?:asc|desc))?(?:\s+nulls\s+\w+)?\s*"
    rf"(?:\blimit\b|\bfetch\s+(?:first|next)\b|,.*\b(?:limit|fetch)\b)",
    re.I | re.DOTALL,
)
_ONCE_GROUPED = re.compile(r"\b(?:group\s+by|distinct|union|over\s*\()", re.I)
_NOT_WAITING = re.compile(r"\b(?:skip\s+locked|nowait)\b", re.I)
_ASSIGNED = re.compile(rf"(?:^|,)\s*({_NAME})\s*=")
_ASSIGNED_TOGETHER = re.compile(r"\(([^()]*)\)\s*=")
_EQUAL = re.compile(rf"({_QUALIFIED})\s*(?:=|\bin\s*\()", re.I)
_JOINED = re.compile(rf"({_NAME})\.({_NAME})\s*=\s*({_NAME})\.({_NAME})", re.I)
_EQUAL_CALL = re.compile(rf"({_QUALIFIED})\s*\(\s*({_QUALIFIED})\s*\)\s*(?:=|\bin\s*\()", re.I)
_LIKE = re.compile(rf"({_QUALIFIED})\s+i?like\b", re.I)
_OR = re.compile(r"\bor\b", re.I)
_VARIABLE = re.compile(r"(?<!:):(\w+)")
_DRAWN = re.compile(rf"{_VARIABLE.pattern}|\$\d|\?")
"""A variable, a parameter, or the placeholder of a value."""
_READ_OR_UPDATE = re.compile(r"\s*(?:select|update)\b", re.I)
_AND = re.compile(r"\band\b", re.I)
_SETS = re.compile(r"\b(?:select|any|all|some|or|not|union|having)\b", re.I)
_EQUAL_TO_DRAWN = re.compile(
    rf"[\s(]*({_QUALIFIED})\s*=(?=.*(?:{_DRAWN.pattern}))[-+*/%()\s\w:.$?]+", re.DOTALL
)
_NESTED = re.compile(r"\([^()]*\)")
_DIGITS = "#"
"""Stands for the digits at the end of a name."""


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


def is_update(sql: str) -> bool:
    """Whether it is a plain UPDATE."""
    return _bare(sql).lstrip().lower().startswith("update")


def ends_transaction(sql: str) -> bool:
    """Whether it commits."""
    return _COMMIT.match(_bare(sql)) is not None


def locks_nothing(sql: str) -> bool:
    """Whether it only reads tables, or begins or ends a transaction.

    A SELECT without a table may call a function with any effect.
    """
    bare = _bare(sql)
    is_read = bare.lstrip().lower().startswith("select") and bool(tables_of(sql))
    is_plain = is_read and not _WRITES.search(bare) and not _LOCKING.search(bare)
    return is_plain or _CONTROL.match(bare) is not None


def shares_rows(sql: str) -> bool:
    """Whether it locks the rows that it reads in a mode that others may have too."""
    return _FOR_SHARE.search(_bare(sql)) is not None


def written_table(sql: str) -> str | None:
    """The table that it updates, inserts or copies into, or deletes from."""
    match = _WRITES.search(_bare(sql))
    return _table(match[1]) if match else None


def locked_table(sql: str) -> str | None:
    """The table whose rows a plain UPDATE changes or a SELECT … FOR UPDATE locks."""
    if is_update(sql):
        return written_table(sql)
    return next(iter(tables_of(sql)), None) if _FOR_UPDATE.search(_bare(sql)) else None


def locks_the_first(sql: str) -> bool:
    """Whether it locks the first of the rows that qualify, as from a queue, and waits for it."""
    bare = _bare(sql)
    is_of_some = bool(_FOR_UPDATE.search(bare) and _SOME.search(bare))
    return is_of_some and not _NOT_WAITING.search(bare)


def tables_of(sql: str) -> list[str]:
    """The tables that it writes and reads, each once."""
    bare = _bare(sql)
    named = [match[1] for pattern in (_WRITES, _READS) for match in pattern.finditer(bare)]
    return list(dict.fromkeys(map(_table, named)))


def in_short(sql: str) -> str:
    """Its verb and its first table, as a short name of the statement."""
    verb = _bare(sql).split(None, 1)[:1]
    return " ".join([*(word.rstrip(";").upper() for word in verb), *tables_of(sql)[:1]])


def assigned_columns(sql: str) -> list[str]:
    """The columns that its SET assigns."""
    clause = _SET.search(_bare(sql))
    if clause is None:
        return []
    together = [
        name for group in _ASSIGNED_TOGETHER.findall(clause[1]) for name in group.split(",")
    ]
    single = _ASSIGNED.findall(_without_nested(clause[1]))
    return [_unquoted(name.strip()) for name in [*single, *together]]


def equal_columns(sql: str, table: str = "") -> list[str]:
    """The columns that its WHERE compares for equality, without their tables.

    With a table, columns that the statement attributes to another one are omitted.
    """
    bare = _bare(sql)
    clause = _WHERE.search(bare)
    named = [name.rpartition(".") for name in _EQUAL.findall(clause[1])] if clause else []
    return list(
        dict.fromkeys(
            _unquoted(column)
            for of, _, column in named
            if not (of and table) or _is_of(bare, of, table)
        )
    )


def joined_columns(sql: str, table: str) -> list[str]:
    """The table's columns that it compares for equality with columns of other tables."""
    bare = _bare(sql)
    sides = [
        side
        for one, its, other, others in _JOINED.findall(bare)
        for side in ((one, its, other), (other, others, one))
    ]
    own = (
        _unquoted(column)
        for of, column, with_ in sides
        if _is_of(bare, of, table) and not _is_of(bare, with_, table)
    )
    return list(dict.fromkeys(own))


def has_alternatives(sql: str) -> bool:
    """Whether its WHERE joins conditions by OR."""
    clause = _WHERE.search(_bare(sql))
    return clause is not None and _OR.search(clause[1]) is not None


def first_by(sql: str) -> str | None:
    """The column of its only table by which it wants the first few rows."""
    bare = _bare(sql)
    match = _FIRST_BY.search(bare)
    if match is None or _ONCE_GROUPED.search(bare) or len(tables_of(sql)) != 1:
        return None
    return _unquoted(match[1].rpartition(".")[2])


def equal_calls(sql: str) -> list[tuple[str, str]]:
    """Functions of one column whose result its WHERE compares for equality."""
    clause = _WHERE.search(_bare(sql))
    called = _EQUAL_CALL.findall(clause[1]) if clause else []
    return [(name.lower(), _unquoted(column.rpartition(".")[2])) for name, column in called]


def like_columns(sql: str) -> list[str]:
    """The columns that its WHERE compares with a pattern, without their tables."""
    clause = _WHERE.search(_bare(sql))
    named = _LIKE.findall(clause[1]) if clause else []
    return list(dict.fromkeys(_unquoted(name.rpartition(".")[2]) for name in named))


def chooses_rows(sql: str) -> bool:
    """Whether a value in its WHERE decides which of the existing rows it matches."""
    clause = _WHERE.search(_bare(sql))
    return clause is not None and _DRAWN.search(clause[1]) is not None


def choosing_variables(sql: str) -> set[str]:
    """The script's variables in its WHERE."""
    clause = _WHERE.search(_bare(sql))
    return set(_VARIABLE.findall(clause[1])) if clause else set()


def key_columns(sql: str) -> list[str]:
    """The columns of its only table by whose values alone it finds the rows to read or update.

    Empty if it has other conditions, or wants the next row of a queue, which may be empty.
    """
    bare = _bare(sql)
    clause = _WHERE.search(bare)
    if (
        clause is None
        or not _READ_OR_UPDATE.match(bare)
        or len(tables_of(sql)) != 1
        or _NOT_WAITING.search(bare)
        or _SETS.search(bare[clause.start() :])
        or first_by(sql)
    ):
        return []
    parts = _AND.split(clause[1].rstrip("; \t\r\n"))
    equal = [_EQUAL_TO_DRAWN.fullmatch(part) for part in parts]
    return [_unquoted(one[1].rpartition(".")[2]) for one in equal if one] if all(equal) else []


def _bare(sql: str) -> str:
    """The text without comments and the contents of literals."""
    marks = {"comment": " ", "string": "''"}
    return "".join(marks.get(token.kind, token.text) for token in tokens(sql, "standard"))


def _is_of(bare: str, qualifier: str, table: str) -> bool:
    """Whether a column's qualifier means this table: as its alias, or by its name."""
    aliased = re.findall(
        rf"(?:\b(?:from|join|update|into|only)\s+|,\s*)({_QUALIFIED})\s+(?:as\s+)?"
        rf"{re.escape(qualifier)}(?!\w)",
        bare,
        re.I,
    )
    names = (table, table.rpartition(".")[2])
    return any(fits(_table(one), name) for one in aliased or [qualifier] for name in names)


def _without_nested(text: str) -> str:
    """The text without anything in parentheses, which may be whole queries."""
    while (shorter := _NESTED.sub("", text)) != text:
        text = shorter
    return text


def _table(name: str) -> str:
    """A table's name as telemetry has it: without a schema that need not be named."""
    schema, _, table = name.rpartition(".")
    prefix = "" if schema in ("", "public") else f"{_unquoted(schema)}."
    return prefix + _unquoted(table)


def _unquoted(name: str) -> str:
    """Unquoted names are folded to lower case, as PostgreSQL does."""
    return name[1:-1] if name.startswith(('"', "`")) else name.lower()
