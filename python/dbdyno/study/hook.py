"""A shell command that changes the server before a run, for one side of a pair.

Its output is shown only if it fails.
"""

from dbdyno.errors import DbdynoError
from dbdyno.model.study import Turn, levels_of
from dbdyno.run.shell_command import run_command
from dbdyno.servers.base import Server

HOOK_FAILED = "hook_failed"
_OUTPUT_LINES = 20


def run_hook(hook: str, turn: Turn, server: Server, last: Turn | None) -> None:
    """Run the command for this turn; ``last`` is the turn whose hook succeeded last.

    Raises an error that stops the study: the server is in the state of neither side.
    """
    variables = {"DBDYNO_SIDE": side_of(turn), "DBDYNO_PAIR": str(turn.block)}
    try:
        failure = run_command(hook, server, variables)
    except OSError as error:  # a command that is too long, no memory
        raise _failed(hook, turn, last, error.strerror or str(error), "") from error
    if failure:
        raise _failed(hook, turn, last, failure.how, failure.output)


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
