"""The server's errors during our own work (not the load's), with the next step for a person."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import errors

from dbdyno.databases.adapter import TABLE_NEEDED
from dbdyno.errors import DbdynoError

# (exception, our code, the next step); the first match counts.
CAUSES: tuple[tuple[type[psycopg.Error], str, str], ...] = (
    (
        errors.InsufficientPrivilege,
        "no_rights",
        "grant the right (for tables: CREATE on the schema), or connect as another user",
    ),
    (errors.DiskFull, "disk_full", "make room on the server's disk, or load a smaller scale"),
    (errors.OutOfMemory, "server_memory", "the server is out of memory: load a smaller scale"),
    (
        errors.ReadOnlySqlTransaction,
        "read_only",
        "the server is a standby, or default_transaction_read_only is on (for the server, the "
        "database or the role)",
    ),
    (errors.DuplicateTable, "table_exists", "--replace drops it first"),
    (errors.DependentObjectsStillExist, *TABLE_NEEDED),
    (errors.WrongObjectType, "not_a_table", "something else has the table's name: rename it"),
    (
        errors.InvalidSchemaName,
        "missing_schema",
        "create the schema, or set another search_path for the user or the database",
    ),
    (errors.UndefinedTable, "missing_table", "load the data first: dbdyno load WORKLOAD"),
    (errors.QueryCanceled, "cancelled", "a timeout of the server, or someone, cancelled it"),
    (psycopg.OperationalError, "server_lost", "the server's log may say why"),
)


@contextmanager
def understood(doing: str) -> Iterator[None]:
    """Turn the driver's errors inside the block into dbdyno's."""
    try:
        yield
    except psycopg.Error as error:
        primary = error.diag.message_primary or str(error).strip()
        if isinstance(error, errors.DependentObjectsStillExist) and error.diag.message_detail:
            primary = "; ".join([primary, *error.diag.message_detail.splitlines()])
        code, hint = _cause(error)
        raise DbdynoError(code, f"cannot {doing}: {primary}", hint) from error


def _cause(error: psycopg.Error) -> tuple[str, str]:
    for kind, code, hint in CAUSES:
        if isinstance(error, kind):
            return code, hint
    return "server_error", f"SQLSTATE {error.sqlstate}" if error.sqlstate else ""
