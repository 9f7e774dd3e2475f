"""Describes a PostgreSQL server: version, settings, durability, sizes. Changes nothing."""

from functools import partial

from psycopg import Connection

from dbdyno.databases.adapter import ServerDescription, described, settings_as_told

DURABILITY = (
    "fsync",
    "synchronous_commit",
    "full_page_writes",
    "wal_level",
    "wal_writer_delay",
    "data_checksums",
)

# What telemetry may read, and the first version that has it (server_version_num).
CAPABILITIES = {
    "pg_stat_wal": 140000,
    "pg_stat_io": 160000,
    "pg_stat_checkpointer": 170000,
    "pg_stat_io_bytes": 180000,
    "pg_stat_backend": 180000,
}

# What sessions of the load begin with: this one has set some for itself, and its name.
SETTINGS = """
    select name, coalesce(reset_val, ''), coalesce(unit, ''), source
    from pg_settings
    where reset_val is distinct from boot_val and source not in ('default', 'client')
        and name <> 'application_name'
    order by name"""

FACTS = """
    select current_setting('server_version'), current_setting('server_version_num')::int,
        pg_encoding_to_char(encoding), datcollate, pg_is_in_recovery(),
        pg_database_size(oid), pg_size_bytes(current_setting('shared_buffers'))
    from pg_database where datname = current_database()"""


# The program and its compiler; its options only for those who may see them (pg_config).
BUILD = """
    select 'version', version()
    union all select replace(name, '_', ' '), setting from pg_settings
        where name = 'debug_assertions'"""
BUILD_OPTIONS = """
    select name, setting from pg_config()
    where name in ('CFLAGS', 'CONFIGURE') and setting <> 'not recorded'"""

MAY_SEE_OPTIONS = "select has_function_privilege('pg_config()', 'execute')"

READ_ONLY = """
    select pg_is_in_recovery(), setting, source
    from pg_settings where name = 'default_transaction_read_only'"""


def refuses_writes(connection: Connection) -> str:
    """Return why sessions of this role can write nothing; empty if they can."""
    in_recovery, setting, source = connection.execute(READ_ONLY).fetchone() or (False, "off", "")
    if in_recovery:
        return "the server is a standby, which is in recovery"
    if setting == "on":
        return f"default_transaction_read_only is on for this session (set by {source})"
    return ""


def describe(connection: Connection) -> ServerDescription:
    """Describe the server behind this connection, and its current database."""
    facts = connection.execute(FACTS).fetchone()
    assert facts is not None  # the current database has its row
    version, number, encoding, collation, in_recovery, database_bytes, cache_bytes = facts
    return described(
        "postgresql",
        "postgres",
        {
            "version": version,
            "version_number": number,
            "settings": lambda: settings_as_told(connection.execute(SETTINGS)),
            "durability": partial(_durability, connection),
            "encoding": encoding,
            "collation": collation,
            "is_in_recovery": in_recovery,
            "database_bytes": database_bytes,
            "cache_bytes": cache_bytes,
            "build": partial(_build, connection),
        },
    )


def _build(connection: Connection) -> dict[str, str]:
    found: dict[str, str] = dict(connection.execute(BUILD).fetchall())
    (may_see,) = connection.execute(MAY_SEE_OPTIONS).fetchone() or (False,)
    if may_see is False:
        return found
    return found | dict(connection.execute(BUILD_OPTIONS).fetchall())


def _durability(connection: Connection) -> dict[str, str]:
    query = "select name, setting from pg_settings where name = any(%s) order by name"
    return dict(connection.execute(query, [list(DURABILITY)]).fetchall())
