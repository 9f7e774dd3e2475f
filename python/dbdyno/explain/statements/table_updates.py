"""Updates that were not HOT: how many each table had, and which statement prevents them.

Counts and names only; their cost and the text are in the rule.
"""

from collections import defaultdict

from msgspec import Struct

from dbdyno.explain.needs import committed, grown, growth_if_reported, known_objects, server_facts
from dbdyno.explain.statements.sql import Sql, fits, the_one
from dbdyno.explain.statements.statements import statements_of
from dbdyno.model.counters import PgUserTables
from dbdyno.model.run import Run
from dbdyno.model.telemetry import IndexFacts, TableFacts


class TableUpdates(Struct, frozen=True, kw_only=True):
    """A table's updates per transaction: all, not HOT, and not HOT for lack of room.

    A partitioned table counts with all its partitions together; ``pages`` is the partition that had
    most misses, otherwise the table. The server counts updates that lacked room only from version
    16: before, they are 0.
    """

    table: TableFacts
    pages: TableFacts
    updates: float
    misses: float
    index_writes: float
    """New index entries that HOT would have saved."""
    to_new_page: float

    @property
    def share(self) -> float:
        """Share of the updates, of which there must be one."""
        return self.misses / self.updates


class Culprit(Struct, frozen=True):
    """A statement that assigns indexed columns: these, and all indexes that contain one.

    ``table`` owns the indexes: the updated table, or one of its partitions.
    """

    table: TableFacts
    sql: str
    columns: list[str]
    indexes: list[IndexFacts]


def updates_of(run: Run) -> list[TableUpdates]:
    """The server's counts for each table that had updates."""
    known = set(known_objects(run, PgUserTables.source))
    tables = {table.name: table for table in server_facts(run).tables}
    parts: dict[str, list[TableUpdates]] = defaultdict(list)
    for table in tables.values():
        if table.name in known and (counted := _counted(run, table)).updates:
            whole = tables.get(table.partition_of, table)
            parts[whole.name].append(counted)
    return [_together(tables[name], of_it) for name, of_it in parts.items()]


def _counted(run: Run, table: TableFacts) -> TableUpdates:
    updates, hot = (
        grown(run, counter, table.name)
        for counter in (PgUserTables.n_tup_upd, PgUserTables.n_tup_hot_upd)
    )
    to_new_page = growth_if_reported(run, PgUserTables.n_tup_newpage_upd, table.name) or 0.0
    misses, done = max(updates - hot, 0.0), committed(run)
    return TableUpdates(
        table=table,
        pages=table,
        updates=updates / done,
        misses=misses / done,
        index_writes=misses / done * sum(index.rows_share for index in table.indexes),
        to_new_page=to_new_page / done,
    )


def _together(table: TableFacts, parts: list[TableUpdates]) -> TableUpdates:
    return TableUpdates(
        table=table,
        pages=max(parts, key=lambda part: part.misses).table,
        updates=sum(part.updates for part in parts),
        misses=sum(part.misses for part in parts),
        index_writes=sum(part.index_writes for part in parts),
        to_new_page=sum(part.to_new_page for part in parts),
    )


def culprit_of(run: Run, of: TableUpdates) -> Culprit | None:
    """The first statement that assigns an indexed column of the table.

    Otherwise of the partition with most misses, which may have indexes that the whole table has
    not.
    """
    return next(
        (
            Culprit(
                table=table,
                sql=statement.text,
                columns=columns,
                indexes=[one for one in table.indexes if {*columns} & {*one.columns}],
            )
            for table in (of.table, of.pages)
            for statement in statements_of(run)
            if statement.sql.verb == "update" and fits(statement.sql.written_table, of.table.name)
            if (columns := _indexed_columns(statement.sql, table))
        ),
        None,
    )


def _indexed_columns(sql: Sql, table: TableFacts) -> list[str]:
    """The columns that the statement assigns and an index contains."""
    indexed = {column for index in table.indexes for column in index.columns}
    assigned = {the_one(name, table.columns) for name in sql.assigned_columns}
    return sorted(column for column in assigned if column and column in indexed)
