"""What is refused before the first transaction, once scripts and server are known."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from dbdyno.errors import DbdynoError
from dbdyno.targets.connection import Connection

if TYPE_CHECKING:
    from dbdyno.engine import Problem


def refuse_problems(problems: Sequence["Problem"], warn: Callable[[str], None]) -> None:
    """Raises every error of the scripts at once; tells the warnings."""
    for problem in problems:
        if problem.severity == "warning":
            warn(f"warning: {_told(problem)}")
    errors = [_told(problem) for problem in problems if problem.severity == "error"]
    if errors:
        raise DbdynoError(
            code="script",
            message="\n".join(errors),
            hint="Nothing was run. The script language is pgbench's.",
        )


def _told(problem: "Problem") -> str:
    near = f' at "{problem.text}"' if problem.text else ""
    if not problem.script:  # in what was given beside the scripts
        return f"{problem.message}{near}"
    return f"{problem.script}:{problem.line}:{problem.column}: {problem.message}{near}"


def refuse_too_many(clients: int, connection: Connection) -> None:
    """More clients than the server admits would fail one by one: it is said at once."""
    row = connection.execute(
        "select current_setting('max_connections')::int,"
        " current_setting('superuser_reserved_connections')::int,"
        " (select count(*) from pg_stat_activity where backend_type = 'client backend')"
    ).fetchone()
    admitted, reserved, taken = row
    free = admitted - reserved - taken + 1  # our own control connection among the taken
    if clients > free:
        raise DbdynoError(
            code="too_many_clients",
            message=f"{clients} clients, but the server admits {free} more connections "
            f"(max_connections {admitted}, {reserved} reserved, {taken - 1} in use)",
            hint="Raise max_connections and restart the server, or use fewer clients.",
        )
