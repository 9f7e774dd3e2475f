"""Sources that no single view provides: WAL position, sizes, progress, standbys, session counts.

Each is one query. Sizes read the database's folder, and are therefore read less often.
"""

from dbdyno.databases.postgresql.driver.connection import PostgresqlConnection
from dbdyno.databases.postgresql.names import index_name, table_name
from dbdyno.databases.postgresql.telemetry.combined_query import TABLES, CombinedQuery
from dbdyno.databases.postgresql.telemetry.server_context import ServerContext
from dbdyno.databases.postgresql.telemetry.session import APPLICATION_NAME
from dbdyno.databases.telemetry import SourceUnavailableError
from dbdyno.model.source import Source

SIZES_EVERY_S = 5.0

WAL_POSITION = """
    select '', place::float8 as bytes,
        div(place, pg_size_bytes(current_setting('wal_segment_size')))::float8 as segments
    from (select pg_current_wal_insert_lsn() - '0/0' as place) as wal"""

SIZES = f"""
    select {table_name("n.nspname", "c.relname")}, pg_table_size(c.oid) as bytes,
        null::int8 as database_bytes
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.oid = any({TABLES})
    union all
    select {index_name("n.nspname", "t.relname", "c.relname")}, pg_relation_size(c.oid), null
    from pg_index i join pg_class c on c.oid = i.indexrelid join pg_class t on t.oid = i.indrelid
    join pg_namespace n on n.oid = t.relnamespace
    where i.indrelid = any({TABLES})
    union all
    select '', null, pg_database_size(current_database())"""

# Each progress view, with the command and the columns for the work done and the total.
PROGRESS = {
    "pg_stat_progress_vacuum": ("'VACUUM'", "heap_blks_scanned", "heap_blks_total"),
    "pg_stat_progress_analyze": ("'ANALYZE'", "sample_blks_scanned", "sample_blks_total"),
    "pg_stat_progress_create_index": ("command", "blocks_done", "blocks_total"),
    "pg_stat_progress_cluster": ("command", "heap_blks_scanned", "heap_blks_total"),
    "pg_stat_progress_copy": ("command", "bytes_processed", "bytes_total"),
}

REPLICATION = """
    select application_name, max(ends.lsn - replay_lsn)::float8 as lag_bytes,
        max(extract(epoch from replay_lag))::float8 as replay_lag_s
    from pg_stat_replication, (select case when pg_is_in_recovery()
        then pg_last_wal_replay_lsn() else pg_current_wal_lsn() end) as ends(lsn)
    where exists (select from pg_stat_get_wal_senders())  -- else the sessions are not scanned
    group by application_name"""

# All sessions but ours in one pass. A session whose type is hidden from our role is a client if it
# has a database. Whatever keeps dead rows of this database from being removed counts as a holder: a
# transaction that has a snapshot or has written, but no vacuum, which others ignore; a standby
# reports what its queries still read, and a slot keeps it when the standby has gone. Ages are those
# of holders.
SESSIONS = f"""
    select '', count(*) filter (where is_client) as clients,
        count(*) filter (where is_client and state = 'active') as active,
        count(*) filter (where is_client and is_idle) as idle_in_transaction,
        count(*) filter (where is_client and application_name <> 'dbdyno') as foreign_clients,
        greatest(extract(epoch from max(age) filter (where is_holder)),
            (select extract(epoch from clock_timestamp() - min(prepared)) from pg_prepared_xacts
            where database = current_database()), 0)::float8 as oldest_transaction_s,
        coalesce(extract(epoch from max(age) filter (where is_holder and is_idle)), 0)::float8
            as oldest_idle_in_transaction_s,
        greatest(max(held) filter (where is_standby or is_holder), max(slots.kept), (select
            max(age(transaction)) from pg_prepared_xacts where database = current_database()), 0)
            as horizon_age_transactions,
        greatest(max(held) filter (where is_standby), max(slots.kept), 0)
            as standby_age_transactions
    from (select max(age(xmin)) as kept from pg_replication_slots) as slots, (
        select *, is_client and is_here and held is not null as is_holder from (
            select state, application_name, state like 'idle in transaction%' as is_idle,
                clock_timestamp() - xact_start as age,
                greatest(age(backend_xmin), age(backend_xid)) as held,
                coalesce(backend_type = 'client backend', datid is not null) as is_client,
                backend_type = 'walsender' as is_standby,
                datid = (select oid from pg_database where datname = current_database()) as is_here
            from pg_stat_get_activity(null)
            where application_name <> '{APPLICATION_NAME}') as every_session) as session"""


def wal_position(
    _connection: PostgresqlConnection, context: ServerContext, combined: CombinedQuery
) -> Source[PostgresqlConnection]:
    """Return the exact number of bytes of WAL, and of completed segments."""
    if context.is_standby:
        raise SourceUnavailableError("the server is a standby: its WAL is written elsewhere")
    return Source(name="wal_position", read=combined.reader("wal_position", WAL_POSITION))


def sizes(
    _connection: PostgresqlConnection, _context: ServerContext, combined: CombinedQuery
) -> Source[PostgresqlConnection]:
    """Return the sizes of the recorded tables (in full), their indexes, and the database."""
    return Source(
        name="sizes",
        read=combined.alone(SIZES),
        levels=frozenset({"bytes", "database_bytes"}),
        every_s=SIZES_EVERY_S,
    )


def progress(
    connection: PostgresqlConnection, context: ServerContext, combined: CombinedQuery
) -> Source[PostgresqlConnection]:
    """Return the progress of long commands."""
    if not context.sees_all:
        raise SourceUnavailableError(f"the role may not see what others run: {context.grant}")
    parts = " union all ".join(
        f"select concat({command}, '/', relid::regclass), "  # both are NULL for a moment
        f"{done} as done, {total} as total from {view} where datname = current_database()"
        for view, (command, done, total) in PROGRESS.items()
        if _exists(connection, view)
    )
    return Source(
        name="progress",
        read=combined.reader("progress", parts),
        levels=frozenset({"done", "total"}),
    )


def replication(
    _connection: PostgresqlConnection, context: ServerContext, combined: CombinedQuery
) -> Source[PostgresqlConnection]:
    """Return how far the standbys are behind."""
    if not context.sees_all:
        raise SourceUnavailableError(f"the role may not see standbys: {context.grant}")
    return Source(
        name="replication",
        read=combined.reader("replication", REPLICATION),
        levels=frozenset({"lag_bytes", "replay_lag_s"}),
    )


def sessions_in_sum(
    _connection: PostgresqlConnection, _context: ServerContext, combined: CombinedQuery
) -> Source[PostgresqlConnection]:
    """Return the number of sessions, and what the oldest ones hold back."""
    names = (
        "clients active idle_in_transaction foreign_clients oldest_transaction_s "
        "oldest_idle_in_transaction_s horizon_age_transactions standby_age_transactions"
    )
    return Source(
        name="sessions",
        read=combined.reader("sessions", SESSIONS),
        levels=frozenset(names.split()),
    )


def _exists(connection: PostgresqlConnection, view: str) -> bool:
    return connection.execute("select to_regclass(%s) is not null", [view]).fetchone() == (True,)
