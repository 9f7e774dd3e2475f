"""Which data exists: none, data that fits, or something in the way. Reads only.

A comment on each table that dbdyno loaded, its mark, stays with the data. It distinguishes our data
from anybody else's, and complete data from an interrupted load.
"""

from collections.abc import Callable, Mapping
from typing import Literal

import msgspec
from msgspec import Struct

from dbdyno.databases.adapter import Adapter
from dbdyno.databases.connection import Connection
from dbdyno.databases.schema import FoundTable, Table, listed
from dbdyno.errors import DbdynoError
from dbdyno.model.generators import value_at
from dbdyno.workloads.base import Workload
from dbdyno.workloads.parameters import Value

_MARK_PREFIX = "dbdyno "
_KEYS_LOOKED_UP = 1000
_ROWS_SHARE_MIN = 0.5


class Mark(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The content of the comment on each table. ``drawn`` are :class:`Drawn` numbers by name.

    Until all is loaded it has the ``seed``, and in ``plan`` a word for what is being loaded.
    """

    data: str
    scale: int
    loaded: bool
    drawn: tuple[tuple[str, int], ...] = ()
    seed: int = 0
    plan: str = ""

    @property
    def comment(self) -> str:
        """The comment's text."""
        return _MARK_PREFIX + msgspec.json.encode(self).decode()

    @classmethod
    def of(cls, comment: str) -> "Mark | None":
        """Return the mark in a comment; None if the comment is not dbdyno's."""
        if not comment.startswith(_MARK_PREFIX):
            return None
        try:
            return msgspec.json.decode(comment.removeprefix(_MARK_PREFIX), type=cls)
        except msgspec.MsgspecError:
            return None


class DataStatus(Struct, frozen=True, kw_only=True):
    """Which data exists: ``why`` it does not fit, or else its ``scale`` and who made it.

    ``unfinished`` is the mark of a load that was interrupted, if it can be continued perhaps, and
    ``why`` also says what is there where ours is absent: tables of another tool's, perhaps.
    """

    state: Literal["absent", "compatible", "incompatible"]
    scale: int | None = None
    made_by: str | None = None
    why: str = ""
    is_of_other_tool: bool = False
    unfinished: Mark | None = None
    drawn: tuple[tuple[str, int], ...] = ()

    def values(self, workload: Workload, given: Mapping[str, Value]) -> dict[str, Value]:
        """Return a value for every parameter, with those of the data."""
        return workload.complete(
            {**given, workload.scale_name: self.scale or 1, **dict(self.drawn)}
        )


def data_status(
    workload: Workload, target: Adapter, connection: Connection, given: Mapping[str, Value]
) -> DataStatus:
    """Compare what exists with the workload and with the given parameters."""
    wanted = workload.tables(workload.complete(given))
    with target.understood("inspect the tables"):
        found = target.find_tables(connection, [table.name for table in wanted])
        marks = {Mark.of(table.comment) for table in found.values()}
        other = _other_tool(workload, target, connection) if marks <= {None} else ""
        if not found:
            return DataStatus(state="absent", why=other, is_of_other_tool=bool(other))
        if others := [table.name for table in found.values() if not table.is_table]:
            raise DbdynoError(  # no load replaces views and the like
                "not_a_table",
                f"{', '.join(others)} is not a table",
                "something else has the table's name: rename it",
            )
        mark = _common(marks)
        why = other or _foreign(workload, wanted, found, mark)
        if not why and mark and not mark.loaded:
            why = "its loading has not ended, or was interrupted"
            return DataStatus(state="incompatible", why=why, unfinished=mark)
        if why := why or _misshapen(wanted, found):
            return DataStatus(state="incompatible", why=why, is_of_other_tool=bool(other))
        if mark:
            scale, made_by, drawn = mark.scale, "dbdyno", mark.drawn
        else:
            assert workload.other_maker  # otherwise unmarked tables are foreign
            made_by, drawn = workload.other_maker.name, ()
            scale = int(connection.execute(workload.other_maker.scale_query).fetchone()[0])
        actual = workload.tables(workload.complete({**given, workload.scale_name: max(scale, 1)}))
        why = (
            _other_scale(workload, scale, given)
            or _other_storage(actual, found, given)
            or _lacking_rows(actual, connection)
        )
    if why:
        return DataStatus(state="incompatible", scale=scale, why=why)
    return DataStatus(state="compatible", scale=scale, made_by=made_by, drawn=drawn)


def _common(marks: set[Mark | None]) -> Mark | None:
    """Return the mark of all tables; while they are being marked as loaded, that of the last."""
    unfinished = {mark for mark in marks if mark is None or not mark.loaded}
    candidates = unfinished or marks
    return candidates.pop() if len(candidates) == 1 else None


def _other_tool(workload: Workload, target: Adapter, connection: Connection) -> str:
    """Return which other tool has made tables for the same load; empty if none has."""
    if not workload.other_tools:
        return ""
    found = target.find_tables(connection, sorted({one.table for one in workload.other_tools}))
    for tool in workload.other_tools:
        if tool.table in found:
            names = [column.name for column in found[tool.table].columns]
            if tuple(names[: len(tool.columns)]) == tool.columns:
                return f"{tool.table} is a table of {tool.name}, {tool.differs}"
    return ""


def _foreign(
    workload: Workload, wanted: tuple[Table, ...], found: dict[str, FoundTable], mark: Mark | None
) -> str:
    """Return why we may not use these tables; empty if we may."""
    missing = [table.name for table in wanted if table.name not in found]
    if missing:
        return f"{', '.join(found)} without {', '.join(missing)}"
    if mark is None:
        return "" if workload.other_maker else f"{', '.join(found)} was not made by dbdyno"
    return "" if mark.data == workload.data else f"{', '.join(found)} holds the data of {mark.data}"


def _misshapen(wanted: tuple[Table, ...], found: dict[str, FoundTable]) -> str:
    """Return why the scripts' statements would not work on these tables; empty if they would."""
    for table in wanted:
        there = found[table.name]
        if differing := _other_columns(table, there):
            return f"{table.name} has other columns: {differing}"
        if table.primary_key and there.primary_key != table.primary_key:
            return f"{table.name} lacks the primary key ({listed(table.primary_key)})"
        if lacking := sorted(table.unique_keys() - there.unique_keys):
            return f"{table.name} lacks the unique key ({listed(lacking[0])})"
    return ""


def _other_columns(table: Table, there: FoundTable) -> str:
    """Return the first difference between columns; empty if there is none."""
    wanted = {column.name: _width(column.sql_type) for column in table.columns}
    actual = {column.name: _width(column.sql_type) for column in there.columns}
    for name, sql_type in wanted.items():
        if name not in actual:
            return f"{name} is missing"
        if actual[name] != sql_type:
            return f"{name} is {actual[name]} and not {sql_type}"
    if more := [name for name in actual if name not in wanted]:
        return f"it has {listed(more)}, too"
    return "" if list(actual) == list(wanted) else "their order is another"


def _width(sql_type: str) -> str:
    """Return the type without the width of integers: keys are wider at large scales."""
    return "int" if sql_type in ("bigint", "serial", "bigserial") else sql_type


def _other_scale(workload: Workload, scale: int, given: Mapping[str, Value]) -> str:
    if scale < 1:
        return "it is empty"
    name = workload.scale_name
    wanted = given.get(name, scale)
    return "" if wanted == scale else f"its {name} is {scale}, and {wanted} was requested"


def _lacking_rows(actual: tuple[Table, ...], connection: Connection) -> str:
    """Return which table lacks most of the rows that its scale promises; empty if none does.

    Counting takes minutes on a large table: a thousand keys, evenly spread, are looked up instead.
    Half of them may be gone, because loads that delete rows leave such tables behind.
    """
    for table in actual:
        if table.is_queue:
            continue
        wanted = min(table.rows, _KEYS_LOOKED_UP)
        laws = {column.name: column.generator for column in table.columns}
        places = (place * table.rows // wanted for place in range(wanted))
        # A row's primary key, or that of its first child; a value is None if chance decides it.
        keys = [[value_at(laws[name], place) for name in table.primary_key] for place in places]
        condition = _is_one_of(table, [key for key in keys if None not in key])
        if not condition:
            continue
        query = f"select count(*) from {table.name} where {condition}"
        there = int(connection.execute(query).fetchone()[0])
        if there < wanted * _ROWS_SHARE_MIN:
            return (
                f"{table.name} has {there} of {wanted} rows looked up, evenly spread over its "
                "scale: its loading was interrupted, or they were deleted"
            )
    return ""


def _is_one_of(table: Table, keys: list[list[int | None]]) -> str:
    """Return the condition that a row has one of these keys; empty if there are none."""
    if not any(keys):
        return ""
    if len(table.primary_key) == 1:
        return f"{table.primary_key[0]} in ({listed(str(key[0]) for key in keys)})"
    # Not every database looks up (a, b) in (…) by the key's index.
    equal = [
        " and ".join(
            f"{name} = {value}" for name, value in zip(table.primary_key, key, strict=True)
        )
        for key in keys
    ]
    return " or ".join(f"({each})" for each in equal)


# What each storage parameter means for a table; a workload has those that it declares.
STORAGE: dict[str, Callable[[Table, FoundTable], bool]] = {
    "fillfactor": lambda table, there: table.fillfactor in (None, there.fillfactor or 100),
    "unlogged": lambda table, there: table.unlogged == there.unlogged,
    "partitions": lambda table, there: table.partitioning == there.partitioning,
    "partition_method": lambda table, there: table.partitioning == there.partitioning,
    "foreign_keys": lambda table, there: set(table.foreign_keys) == there.foreign_keys,
}


def _other_storage(
    actual: tuple[Table, ...], found: dict[str, FoundTable], given: Mapping[str, Value]
) -> str:
    """Return a requested storage parameter that the tables do not have; others may differ."""
    for name, fits in STORAGE.items():
        if name in given and not all(fits(table, found[table.name]) for table in actual):
            return f"it was not made with {name} = {given[name]}"
    return ""
