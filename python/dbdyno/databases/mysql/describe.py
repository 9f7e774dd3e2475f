"""Describes a MariaDB or MySQL server: version, settings, durability, sizes.

Changes nothing but its own session, which reads sizes as they are now.
"""

import re
from functools import partial

from dbdyno.databases.adapter import ServerDescription, described, settings_as_told
from dbdyno.databases.connection import Connection
from dbdyno.databases.mysql.maintenance import FRESH_STATISTICS

DURABILITY = (
    "innodb_flush_log_at_trx_commit",
    "innodb_flush_log_at_timeout",
    "innodb_doublewrite",
    "innodb_flush_method",
    "log_bin",
)
BUILD = ("version", "version_comment", "version_compile_machine", "version_compile_os")
BINARY_LOG = ("sync_binlog", "binlog_format")  # meaningless without a binary log

NO_ADMIN = "NO_LOCK_NO_ADMIN"
# read_only is a number, since MariaDB 12.0 a word.
IS_READ_ONLY = {0: False, 1: True, "OFF": False, "ON": True, "NO_LOCK": True, NO_ADMIN: True}

FACTS = """
    select version(), @@character_set_database, @@collation_database, @@global.read_only,
        @@innodb_buffer_pool_size,
        (select cast(coalesce(sum(data_length + index_length), 0) as unsigned)
            from information_schema.tables where table_schema = database())"""

# The settings that are not defaults, without units: sizes are in bytes.
MARIADB_SETTINGS = """
    select lower(variable_name), global_value, '', lower(global_value_origin)
    from information_schema.system_variables
    where global_value_origin not in ('COMPILE-TIME', 'AUTO')
        and global_value is not null and not global_value <=> default_value
    order by 1"""

MYSQL_SETTINGS = """
    select variable_name, coalesce(variable_value, ''), '', lower(variable_source)
    from performance_schema.variables_info
    join performance_schema.global_variables using (variable_name)
    where variable_source <> 'COMPILED'
    order by 1"""


READ_ONLY = "select version(), @@global.read_only, @@session.{variable}"
# Of this user and the roles that are active, each account's in rows of its own; the view
# user_privileges would be of all accounts, for who may read them, and of no role.
RIGHTS = "show grants"
GLOBAL_RIGHTS = re.compile(r"GRANT (.+) ON \*\.\* TO ")


def refuses_writes(connection: Connection) -> str:
    """Return why sessions of this user can write nothing; empty if they can.

    Since MariaDB 10.11 SUPER does not include the right to write to a read-only server; in MySQL
    ``super_read_only`` stops those who have it, too, and so does a word in MariaDB 12.
    """
    is_mariadb = "MariaDB" in connection.execute("select version()").fetchone()[0]
    variable = "tx_read_only" if is_mariadb else "transaction_read_only"
    version, read_only, session = connection.execute(READ_ONLY.format(variable=variable)).fetchone()
    if session:
        return f"{variable} is on for this session"
    if not IS_READ_ONLY.get(read_only):
        return ""
    if read_only == NO_ADMIN:
        return f"read_only is {NO_ADMIN}: it may be a replica"
    writers = {"ALL PRIVILEGES", "READ_ONLY ADMIN", "READ ONLY ADMIN", "CONNECTION_ADMIN"}
    if not is_mariadb or version_number(version) < 101100:
        writers.add("SUPER")
    rights = _global_rights(connection)
    if not is_mariadb and connection.execute("select @@global.super_read_only").fetchone()[0]:
        return "super_read_only is on: it may be a replica"
    return "" if writers & rights else "read_only is on: it may be a replica"


def _global_rights(connection: Connection) -> set[str]:
    """Return the rights on everything that this session has, in the server's words."""
    grants = [grant for (grant,) in connection.execute(RIGHTS).fetchall()]
    found = filter(None, map(GLOBAL_RIGHTS.match, grants))
    return {right.strip() for grant in found for right in grant[1].split(",")}


def describe(connection: Connection) -> ServerDescription:
    """Describe the server behind this connection, and its current database."""
    connection.execute(FRESH_STATISTICS)
    facts = connection.execute(FACTS).fetchone()
    version, encoding, collation, read_only, cache_bytes, database_bytes = facts
    is_mariadb = "MariaDB" in str(version)
    settings = MARIADB_SETTINGS if is_mariadb else MYSQL_SETTINGS
    return described(
        "mysql",
        "mariadb" if is_mariadb else "mysql",
        {
            "version": version,
            "version_number": lambda: version_number(version),
            "settings": lambda: settings_as_told(connection.execute(settings).fetchall()),
            "durability": partial(_durability, connection),
            "encoding": encoding,
            "collation": collation,
            "is_in_recovery": lambda: IS_READ_ONLY[read_only],
            "database_bytes": database_bytes,
            "cache_bytes": cache_bytes,
            "build": partial(_variables, connection, BUILD),
        },
    )


def version_number(version: str) -> int:
    """Return 101119 for 10.11.19, 80033 for 8.0.33."""
    major, minor, patch = map(int, re.findall(r"\d+", version)[:3])
    return major * 10_000 + minor * 100 + patch


def _durability(connection: Connection) -> dict[str, str]:
    found = _variables(connection, DURABILITY)
    if found.get("log_bin") == "ON":
        found |= _variables(connection, BINARY_LOG)
    return found


def _variables(connection: Connection, names: tuple[str, ...]) -> dict[str, str]:
    wanted = ", ".join(["%s"] * len(names))
    query = f"show global variables where variable_name in ({wanted})"
    return dict(connection.execute(query, names).fetchall())
