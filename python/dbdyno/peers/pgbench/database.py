"""The database of a pgbench command: its connection string, a session in it, the tables' state."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote, urlencode

from msgspec import Struct

from dbdyno.databases.connection import Connection
from dbdyno.errors import DbdynoError
from dbdyno.peers.command_line import RefusalError
from dbdyno.peers.pgbench.command import Command
from dbdyno.peers.streams import Streams
from dbdyno.run.connected_server import ConnectedServer, connect_to
from dbdyno.servers.existing import use_existing

_COUNT = "select count(*) from pgbench_branches"


class Tables(Struct, frozen=True):
    """What a summary says of pgbench's tables."""

    scale: int
    partition_method: str = ""
    partitions: int = 0


def target_of(command: Command) -> str:
    """Return the target that the command names; what it leaves out, libpq completes."""
    given = {"host": command.host, "port": command.port, "user": command.user}
    named = {name: value for name, value in given.items() if value}
    database = command.database
    if database.startswith(("postgresql://", "postgres://")):
        if not named:
            return database
        joint = "&" if "?" in database else "?"
        return f"{database}{joint}{urlencode(named, quote_via=quote)}"
    words = [f"{name}={_quoted(value)}" for name, value in named.items()]
    if database:
        # A connection string overrides what was given before it.
        words.append(database if "=" in database else f"dbname={_quoted(database)}")
    return " ".join(words)


def _quoted(value: str) -> str:
    escaped = value.replace("\\", r"\\").replace("'", r"\'")
    return f"'{escaped}'"


@contextmanager
def connected_to(command: Command) -> Iterator[ConnectedServer]:
    """Open a session for the block; refused in pgbench's words if that is not possible."""
    try:
        server = use_existing(target_of(command))
    except DbdynoError as problem:
        raise RefusalError(
            f"error: {problem.message.removeprefix('cannot connect: ')}",
            "error: could not create connection for setup",
        ) from None
    with connect_to(server) as connected:
        yield connected


def server_says(problem: Exception) -> str:
    """Return an error of the server as libpq writes it."""
    severity = getattr(getattr(problem, "diag", None), "severity", None) or "ERROR"
    return f"{severity}:  {problem}"


def read_tables(connected: ConnectedServer, command: Command) -> Tables:
    """Return the state of pgbench's tables, which its own scripts need and others do not."""
    if not command.uses_builtins:
        return Tables(scale=command.scale or 1)
    try:
        scale = int(connected.control.execute(_COUNT).fetchone()[0])
    except Exception as problem:  # whatever the driver raises
        database = connected.server.endpoint().database
        raise RefusalError(
            f"error: could not count number of branches: {server_says(problem)}",
            f'hint: Perhaps you need to do initialization ("pgbench -i") in database "{database}".',
        ) from None
    found = connected.target.find_tables(connected.control, ["pgbench_accounts"])
    accounts = found.get("pgbench_accounts")
    divided = accounts and accounts.partitioning
    if not divided:
        return Tables(scale)
    return Tables(scale, divided.method, divided.count)


def vacuum(control: Connection, streams: Streams, *, also_accounts: bool) -> None:
    """Vacuum the small tables and empty the history; what fails is reported, and no more."""
    streams.aside("starting vacuum...")
    for statement in (
        "vacuum pgbench_branches",
        "vacuum pgbench_tellers",
        "truncate pgbench_history",
    ):
        _try(control, streams, statement)
    streams.aside("end.\n")
    if also_accounts:
        streams.aside("starting vacuum pgbench_accounts...")
        _try(control, streams, "vacuum analyze pgbench_accounts")
        streams.aside("end.\n")


def _try(control: Any, streams: Streams, statement: str) -> None:
    try:
        control.execute(statement)
    except Exception as problem:  # whatever the driver raises
        streams.say(
            f"error: {server_says(problem)}", "detail: (ignoring this error and continuing anyway)"
        )
