"""A shell command that changes the server before a run, for one side of a pair.

It learns where the server is from its environment, so that no password is on a command line. Its
output is shown only if it fails.
"""

import os
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from dbdyno.databases.connecting import driver_of
from dbdyno.errors import DbdynoError
from dbdyno.model.study import Turn, levels_of
from dbdyno.servers.base import Server

HOOK_FAILED = "hook_failed"
_OUTPUT_LINES = 20


def run_hook(hook: str, turn: Turn, server: Server, last: Turn | None) -> None:
    """Run the command for this turn; ``last`` is the turn whose hook succeeded last.

    Raises an error that stops the study: the server is in the state of neither side.
    """
    try:
        with TemporaryDirectory(prefix="dbdyno-") as folder:
            ended = subprocess.run(
                ["/bin/sh", "-c", hook],
                env=_environment(turn, server, Path(folder)),
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
        output, password = ended.stdout, server.endpoint().password
        if password:
            output = output.replace(password, "****")
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


def _environment(turn: Turn, server: Server, folder: Path) -> dict[str, str]:
    """Where the server is, for any program and for the database's own, and which turn it is.

    ``folder`` is closed to others and removed afterwards.
    """
    endpoint = server.endpoint()
    changed = {
        **driver_of(endpoint.protocol).client_environment(endpoint, folder),
        "DBDYNO_TARGET": server.url,
        "DBDYNO_SIDE": side_of(turn),
        "DBDYNO_PAIR": str(turn.block),
    }
    return {name: value for name, value in {**os.environ, **changed}.items() if value is not None}
