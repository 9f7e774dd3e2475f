"""Updates that were not HOT: how many each table had, and which statement prevents them.

Counts and names only; what they cost, and what to say of it, is the rule's.
"""

from msgspec import Struct

from dbdyno.explain.case import Case
from dbdyno.explain.needs import committed, grown, grown_if_told, known_objects
from dbdyno.explain.sql import assigned_columns, fits, is_update, the_one, written_table
from dbdyno.explain.statements import statements_of
from dbdyno.model.telemetry import IndexFacts, TableFacts

_SOURCE = "pg_stat_user_tables"


class Misses(Struct, frozen=True):
    """A table's updates per transaction, those that were not HOT, and those for want of room.

    The server counts the last only from version 16 on: before, they are 0.
    """

    table: TableFacts
    updates: float = 0.0
    misses: float = 0.0
    to_new_page: float = 0.0

    @property
    def share(self) -> float:
        """Of the updates; there must be one."""
        return self.misses / self.updates

    @property
    def index_writes(self) -> float:
        """New index entries per transaction that HOT would have saved."""
        return self.misses * sum(index.rows_share for index in self.table.indexes)


class Culprit(Struct, frozen=True):
    """A statement that assigns columns of indexes: these, and all indexes that have one."""

    sql: str
    columns: list[str]
    indexes: list[IndexFacts]


def misses_of(case: Case, table: TableFacts) -> Misses:
    """What the server counted of the table's updates."""
    if table.name not in known_objects(case, _SOURCE):
        return Misses(table)
    updates, hot = (
        grown(case, _SOURCE, name, table.name) for name in ("n_tup_upd", "n_tup_hot_upd")
    )
    to_new_page = grown_if_told(case, _SOURCE, "n_tup_newpage_upd", table.name) or 0.0
    done = committed(case)
    return Misses(table, updates / done, max(updates - hot, 0.0) / done, to_new_page / done)


def culprit_of(case: Case, table: TableFacts) -> Culprit | None:
    """The first statement that assigns an indexed column of the table."""
    return next(
        (
            Culprit(statement.words, columns, _with_one_of(columns, table))
            for statement in statements_of(case)
            if is_update(statement.sql) and fits(written_table(statement.sql), table.name)
            if (columns := _indexed_columns(statement.sql, table))
        ),
        None,
    )


def _with_one_of(columns: list[str], table: TableFacts) -> list[IndexFacts]:
    return [index for index in table.indexes if not set(columns).isdisjoint(index.columns)]


def _indexed_columns(sql: str, table: TableFacts) -> list[str]:
    """Of the columns that the statement assigns, those that an index has."""
    indexed = {column for index in table.indexes for column in index.columns}
    assigned = {the_one(told, table.columns) for told in assigned_columns(sql)}
    return sorted(column for column in assigned if column and column in indexed)
