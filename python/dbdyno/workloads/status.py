"""Which data exists: none, data that fits, or something in the way. Reads only."""

from collections.abc import Callable, Mapping
from typing import Literal

from msgspec import Struct

from dbdyno.databases.adapter import Adapter
from dbdyno.databases.connection import Connection
from dbdyno.databases.schema import FoundTable, Table, listed
from dbdyno.errors import DbdynoError
from dbdyno.model.generators import value_at
from dbdyno.workloads.base import Workload
from dbdyno.workloads.mark import Mark, read_mark
from dbdyno.workloads.parameters import Value

_KEYS_LOOKED_UP = 1000
_ROWS_SHARE_MIN = 0.5


class DataStatus(Struct, frozen=True, kw_only=True):
    """Which data exists: ``why`` it does not fit, or else its ``scale`` and who made it."""

    state: Literal["absent", "compatible", "incompatible"]
    scale: int | None = None
    made_by: str | None = None
    why: str = ""


def data_status(
    workload: Workload, target: Adapter, connection: Connection, given: Mapping[str, Value]
) -> DataStatus:
    """Compare what exists with the workload and with the given parameters."""
    with target.understood("inspect the tables"):
        return _status(workload, target, connection, given)


def _status(
    workload: Workload, target: Adapter, connection: Connection, given: Mapping[str, Value]
) -> DataStatus:
    wanted = workload.tables(workload.complete(given))
    found = target.find_tables(connection, [table.name for table in wanted])
    if not found:
        return DataStatus(state="absent")
    _refuse_others(found)
    mark = _common_mark(found)
    obstacle = _foreign(workload, wanted, found, mark) or _misshapen(wanted, found)
    if obstacle:
        return DataStatus(state="incompatible", why=obstacle)
    scale = mark.scale if mark else _measured_scale(workload, connection)
    actual = workload.tables(workload.complete({**given, workload.scale_name: max(scale, 1)}))
    obstacle = (
        _other_scale(workload, scale, given)
        or _other_storage(actual, found, given)
        or _lacking_rows(actual, connection)
    )
    if obstacle:
        return DataStatus(state="incompatible", scale=scale, why=obstacle)
    return DataStatus(state="compatible", scale=scale, made_by=_maker(workload, mark))


def _refuse_others(found: Mapping[str, FoundTable]) -> None:
    """Refuse views and the like, which no load replaces."""
    others = [table.name for table in found.values() if not table.is_table]
    if others:
        raise DbdynoError(
            "not_a_table",
            f"{', '.join(others)} is not a table",
            "something else has the table's name: rename it",
        )


def _common_mark(found: dict[str, FoundTable]) -> Mark | None:
    """Return the mark that all tables share; None if there is none or they differ."""
    marks = {read_mark(table.comment) for table in found.values()}
    return marks.pop() if len(marks) == 1 else None


def _measured_scale(workload: Workload, connection: Connection) -> int:
    assert workload.other_maker  # otherwise unmarked tables are foreign
    row = connection.execute(workload.other_maker.scale_query).fetchone()
    return int(row[0])


def _maker(workload: Workload, mark: Mark | None) -> str:
    if mark is not None or workload.other_maker is None:
        return "dbdyno"
    return workload.other_maker.name


def _foreign(
    workload: Workload, wanted: tuple[Table, ...], found: dict[str, FoundTable], mark: Mark | None
) -> str:
    """Return why we may not use these tables; empty if we may."""
    missing = [table.name for table in wanted if table.name not in found]
    if missing:
        return f"{', '.join(found)} without {', '.join(missing)}"
    if mark is None:
        return "" if workload.other_maker else f"{', '.join(found)} was not made by dbdyno"
    if mark.data != workload.data:
        return f"{', '.join(found)} holds the data of {mark.data}"
    return "" if mark.loaded else "its loading has not ended, or was interrupted"


def _misshapen(wanted: tuple[Table, ...], found: dict[str, FoundTable]) -> str:
    """Return why the scripts' statements would not work on these tables; empty if they would."""
    for table in wanted:
        there = found[table.name]
        actual = [(column.name, _width(column.sql_type)) for column in there.columns]
        if actual != [(column.name, _width(column.sql_type)) for column in table.columns]:
            return f"{table.name} has other columns"
        if table.primary_key and there.primary_key != table.primary_key:
            return f"{table.name} lacks the primary key ({listed(table.primary_key)})"
        if lacking := sorted(table.unique_keys() - there.unique_keys):
            return f"{table.name} lacks the unique key ({listed(lacking[0])})"
    return ""


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
        wanted = min(table.rows, _KEYS_LOOKED_UP)
        keys = [_key_at(table, place * table.rows // wanted) for place in range(wanted)]
        condition = _is_one_of(table, [key for key in keys if key is not None])
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


def _key_at(table: Table, number: int) -> list[int] | None:
    """Return the primary key of a row, or of its first child; None if chance decides."""
    laws = {column.name: column.generator for column in table.columns}
    key = [value_at(laws[name], number) for name in table.primary_key]
    known = [value for value in key if value is not None]
    return known if len(known) == len(key) else None


def _is_one_of(table: Table, keys: list[list[int]]) -> str:
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


def _same_fillfactor(table: Table, there: FoundTable) -> bool:
    return table.fillfactor in (None, there.fillfactor or 100)


def _same_logging(table: Table, there: FoundTable) -> bool:
    return table.unlogged == there.unlogged


def _same_partitions(table: Table, there: FoundTable) -> bool:
    return table.partitioning == there.partitioning


def _same_foreign_keys(table: Table, there: FoundTable) -> bool:
    return set(table.foreign_keys) == there.foreign_keys


# What each storage parameter means for a table; a workload has those that it declares.
STORAGE: dict[str, Callable[[Table, FoundTable], bool]] = {
    "fillfactor": _same_fillfactor,
    "unlogged": _same_logging,
    "partitions": _same_partitions,
    "partition_method": _same_partitions,
    "foreign_keys": _same_foreign_keys,
}


def _other_storage(
    actual: tuple[Table, ...], found: dict[str, FoundTable], given: Mapping[str, Value]
) -> str:
    """Return a requested storage parameter that the tables do not have; others may differ."""
    for name, fits in STORAGE.items():
        if name in given and not all(fits(table, found[table.name]) for table in actual):
            return f"it was not made with {name} = {given[name]}"
    return ""
