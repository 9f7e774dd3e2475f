"""The context of telemetry: the server's version, our role, and the tables to record.

The number of tables that are recorded individually is limited, since each costs time at each
reading. Those that the statements name come first, with their partitions, then those with the most
activity so far, then the largest: tables hidden behind a function or a view are mostly among them.
The choice is made once, before the load, so that it does not change between readings.
"""

from collections.abc import Sequence

from msgspec import Struct

from dbdyno.databases.postgresql.driver.connection import PostgresqlConnection
from dbdyno.databases.postgresql.telemetry.facts.used import used_tables
from dbdyno.databases.telemetry import ScriptStatement

TABLES_MAX = 100

# Activity is read only if there are tables to choose from: with thousands that is expensive.
TABLES = """
    with named as (
        select unnest(%(used)s::oid[]) as relid),
    wanted as (
        select relid from named
        union select tree.relid from named, pg_partition_tree(named.relid) tree where tree.isleaf)
    select relid::int8
    from pg_stat_user_tables s join pg_class c on c.oid = relid
    order by relid in (select relid from wanted) desc,
        n_tup_ins + n_tup_upd + n_tup_del + coalesce(s.seq_scan, 0) + coalesce(s.idx_scan, 0) desc,
        relpages desc
    limit %(most)s"""

ROLE = """
    select current_user::text, pg_has_role(current_user, 'pg_read_all_stats', 'usage'),
        pg_is_in_recovery()"""


class ServerContext(Struct, frozen=True):
    """What sources need to know before they are created."""

    version: int
    role: str
    sees_all: bool
    """Whether the role may see what other roles' sessions do."""
    is_standby: bool
    tables: list[int]
    statements: tuple[ScriptStatement, ...]

    @property
    def grant(self) -> str:
        """The statement that gives the role the rest."""
        return f'grant pg_monitor to "{self.role}"'


def read_server_context(
    connection: PostgresqlConnection, statements: Sequence[ScriptStatement]
) -> ServerContext:
    """Return the context, with two queries."""
    row = connection.execute(ROLE).fetchone()
    assert row is not None  # a select of three values returns one row
    role, sees_all, is_standby = row
    used = {"used": used_tables(connection, statements), "most": TABLES_MAX}
    return ServerContext(
        version=connection.info.server_version,
        role=role,
        sees_all=sees_all,
        is_standby=is_standby,
        tables=[relid for (relid,) in connection.execute(TABLES, used)],
        statements=tuple(statements),
    )
