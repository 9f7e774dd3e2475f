"""A shell command that changes the server before a run, for one side of a pair.

It learns where the server is from its environment, so that no password is on a command line. Its
output is shown only if it fails.
"""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from dbdyno.errors import DbdynoError
from dbdyno.model.plan import Endpoint
from dbdyno.model.study import Turn, levels_of
from dbdyno.servers.base import Server

HOOK_FAILED = "hook_failed"
_OUTPUT_LINES = 20
# Variables of the clients that would lead a hook to another server than the run's.
_OVERRIDING = frozenset({"PGSERVICE", "PGHOSTADDR", "MARIADB_HOME"})


def run_hook(hook: str, turn: Turn, server: Server, last: Turn | None) -> None:
    """Run the command for this turn; ``last`` is the turn whose hook succeeded last.

    Raises an error that stops the study: the server is in the state of neither side.
    """
    inherited = {name: value for name, value in os.environ.items() if name not in _OVERRIDING}
    try:
        with TemporaryDirectory(prefix="dbdyno-") as folder:
            ended = subprocess.run(
                ["/bin/sh", "-c", hook],
                env=inherited | dict(_variables(turn, server, Path(folder))),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                check=False,
            )
    except OSError as error:  # a command that is too long, no memory
        raise _failed(hook, turn, last, error.strerror or str(error), "") from error
    if ended.returncode:
        code = ended.returncode
        how = f"exit code {code}" if code > 0 else f"signal {-code}"
        output = _masked(ended.stdout, server.endpoint().password)
        raise _failed(hook, turn, last, how, output)


def _failed(hook: str, turn: Turn, last: Turn | None, how: str, output: str) -> DbdynoError:
    shown = "\n".join(f"  {line}" for line in output.splitlines()[-_OUTPUT_LINES:])
    message = f"the hook of pair {turn.block}, {side_of(turn)}, failed with {how}: {hook}"
    state = (
        f"The server is as the hook of pair {last.block}, {side_of(last)}, left it"
        if last
        else "It is the first hook since this command began: the server is as it found it"
    )
    return DbdynoError(
        HOOK_FAILED,
        "\n".join(filter(None, [message, shown])),
        f"{state}, apart from what this one did until it failed. Hooks run before each run, in "
        "random order, so each must work on the state that either leaves (drop index if exists). "
        "For other hooks start a new pair; if the cause lies elsewhere, remove it.",
        exit_code=2,
    )


def side_of(turn: Turn) -> str:
    """The level of the only factor: ``before`` or ``after``."""
    return next(iter(levels_of(turn.point).values()))


def _masked(output: str, password: str | None) -> str:
    return output.replace(password, "****") if password else output


def _variables(turn: Turn, server: Server, folder: Path) -> Iterator[tuple[str, str]]:
    """Where the server is, for any program and for the database's own, and which turn it is.

    ``folder`` is closed to others and removed afterwards.
    """
    endpoint = server.endpoint()
    yield "DBDYNO_TARGET", server.url
    yield "DBDYNO_SIDE", side_of(turn)
    yield "DBDYNO_PAIR", str(turn.block)
    if endpoint.protocol == "postgresql":
        yield from _of_libpq(endpoint)
    elif endpoint.protocol == "mysql":
        (folder / "my.cnf").write_text(_option_file(endpoint), encoding="utf-8")
        yield "MYSQL_HOME", str(folder)


def _of_libpq(endpoint: Endpoint) -> Iterator[tuple[str, str]]:
    yield "PGUSER", endpoint.user
    yield "PGDATABASE", endpoint.database
    if endpoint.password is not None:
        yield "PGPASSWORD", endpoint.password
    if endpoint.address.tcp:
        yield "PGHOST", endpoint.address.tcp.host
        yield "PGPORT", str(endpoint.address.tcp.port)
    elif endpoint.address.unix:
        path = Path(endpoint.address.unix.path)
        yield "PGHOST", str(path.parent)
        yield "PGPORT", path.suffix.removeprefix(".")


def _option_file(endpoint: Endpoint) -> str:
    """The clients' option file: files of the system override variables, but come before this."""
    client = {"user": endpoint.user, "password": endpoint.password}
    if endpoint.address.tcp:
        tcp = endpoint.address.tcp
        client |= {"host": tcp.host, "port": str(tcp.port), "protocol": "tcp"}
    elif endpoint.address.unix:
        client |= {"host": "localhost", "socket": endpoint.address.unix.path}
    lines = [f"{name} = {_quoted(value)}" for name, value in client.items() if value is not None]
    return "\n".join(
        ["[client]", *lines, "[mysql]", f"database = {_quoted(endpoint.database)}", ""]
    )


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
