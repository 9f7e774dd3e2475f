"""Statistics views as sources: all numeric columns that a view has in this server's version.

The columns of the views differ between versions, so they come from the catalog. Their meaning is
not known here, except which of them are levels and not counters.
"""

from collections.abc import Mapping

from msgspec import Struct

from dbdyno.databases.postgresql.driver.connection import PostgresqlConnection
from dbdyno.databases.postgresql.names import index_name, table_name
from dbdyno.databases.postgresql.telemetry.combined_query import TABLES, CombinedQuery
from dbdyno.databases.telemetry import SourceUnavailableError
from dbdyno.model.source import Source

NUMERIC = """
    select attname::text, quote_ident(attname) || case when atttypid = 'numeric'::regtype
        then '::float8' else '' end
    from pg_attribute
    where attrelid = to_regclass(%s) and attnum > 0 and not attisdropped
        and atttypid = any('{int2,int4,int8,float4,float8,numeric}'::regtype[])
    order by attnum"""

RESET = "select 1 from pg_attribute where attrelid = to_regclass(%s) and attname = 'stats_reset'"


class View(Struct, frozen=True, kw_only=True):
    """A view to read; ``object`` and ``where`` are SQL, which may contain ``TABLES``.

    ``columns`` renames the columns to read; without it, all numeric columns are read, except
    ``omitted``.
    """

    name: str
    read_from: str = ""
    object: str = "''"
    where: str = "true"
    levels: frozenset[str] = frozenset()
    omitted: frozenset[str] = frozenset()
    columns: Mapping[str, str] = {}

    @property
    def relation(self) -> str:
        """The view to read: that of the same name, unless another is given."""
        return self.read_from or self.name


TABLE = table_name("schemaname", "relname")
TABLE_LEVELS = frozenset({"n_live_tup", "n_dead_tup", "n_mod_since_analyze", "n_ins_since_vacuum"})
RECORDED = f"relid = any({TABLES})"

# The names of the checkpointer's numbers while they were in the background writer's view.
CHECKPOINTER_BEFORE_17 = {
    "num_timed": "checkpoints_timed",
    "num_requested": "checkpoints_req",
    "write_time": "checkpoint_write_time",
    "sync_time": "checkpoint_sync_time",
    "buffers_written": "buffers_checkpoint",
}

VIEWS = (
    View(
        name="pg_stat_database",
        where="datname = current_database()",
        levels=frozenset({"numbackends"}),
    ),
    View(name="pg_stat_bgwriter", omitted=frozenset(CHECKPOINTER_BEFORE_17.values())),
    View(name="pg_stat_checkpointer"),
    View(name="pg_stat_wal"),
    View(
        name="pg_stat_io",
        object="backend_type || '/' || object || '/' || context",
        levels=frozenset({"op_bytes"}),
    ),
    View(name="pg_stat_user_tables", object=TABLE, where=RECORDED, levels=TABLE_LEVELS),
    View(name="pg_statio_user_tables", object=TABLE, where=RECORDED),
    View(
        name="pg_stat_user_indexes",
        object=index_name("schemaname", "relname", "indexrelname"),
        where=RECORDED,
    ),
)
OLD_CHECKPOINTER = View(
    name="pg_stat_checkpointer", read_from="pg_stat_bgwriter", columns=CHECKPOINTER_BEFORE_17
)


def view_source(
    connection: PostgresqlConnection, view: View, combined: CombinedQuery
) -> Source[PostgresqlConnection]:
    """Return the source for this server's version of the view."""
    columns = _columns(connection, view)
    if not columns:
        raise SourceUnavailableError(f"this server has no {view.relation}")
    query = f"select {view.object}, {', '.join(columns)} from {view.relation} where {view.where}"
    return Source(name=view.name, read=combined.reader(view.name, query), levels=view.levels)


def _columns(connection: PostgresqlConnection, view: View) -> list[str]:
    if view.columns:
        found = [f"{column} as {name}" for name, column in view.columns.items()]
    else:
        rows = connection.execute(NUMERIC, [view.relation])
        found = [column for name, column in rows if name not in view.omitted]
    if found and connection.execute(RESET, [view.relation]).fetchone():
        found.append("extract(epoch from stats_reset)::float8 as stats_reset")
    return found
