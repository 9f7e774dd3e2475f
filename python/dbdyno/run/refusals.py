"""What is refused before the first transaction, once scripts and server are known."""

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from dbdyno.errors import DbdynoError
from dbdyno.model.frame import Survey
from dbdyno.model.plan import Plan, Protocol, QueryMode
from dbdyno.run.lua.commands import survey_command
from dbdyno.run.tools import Tools
from dbdyno.targets.base import FreeConnections

if TYPE_CHECKING:
    from dbdyno.engine import Problem

LEAVING_MAX_S = 1.0
"""A busy server takes a moment to end a closed session, rarely longer than this."""
LEAVING_POLL_S = 0.02


def refuse_bad_scripts(tools: Tools, plan: Plan, warn: Callable[[str], None]) -> Survey | None:
    """Let the engine check the scripts; return the survey of a sysbench script."""
    if plan.lua is not None:
        return survey_command(tools, plan, "run")
    _refuse_problems(tools.check_plan(plan), warn)
    return None


def _refuse_problems(problems: Sequence["Problem"], warn: Callable[[str], None]) -> None:
    """Raise all errors of the scripts at once; report the warnings."""
    for problem in problems:
        if problem.severity == "warning":
            warn(f"warning: {_problem_text(problem)}")
    errors = [_problem_text(problem) for problem in problems if problem.severity == "error"]
    if errors:
        raise DbdynoError(
            code="script",
            message="\n".join(errors),
            hint="Nothing was run. Scripts are written in pgbench's script language.",
        )


def _problem_text(problem: "Problem") -> str:
    near = f' at "{problem.text}"' if problem.text else ""
    if not problem.script or not problem.line:  # concerns no particular line
        return f"{problem.message}{near}"
    return f"{problem.script}:{problem.line}:{problem.column}: {problem.message}{near}"


def refuse_unknown_mode(mode: QueryMode | None, protocol: Protocol) -> None:
    """Refuse a query mode that the protocol does not have."""
    if mode == "extended" and protocol == "mysql":
        raise DbdynoError(
            code="usage",
            message="-M extended is not available with MySQL's protocol",
            hint="Use -M simple (text protocol) or -M prepared (binary protocol).",
        )


def refuse_too_many(clients: int, free: Callable[[], FreeConnections]) -> None:
    """Refuse more clients than the server admits: they would fail one by one."""
    remaining = _once_all_left(clients, free)
    if clients > remaining.count:
        raise DbdynoError(
            code="too_many_clients",
            message=f"{clients} clients, but the server allows only {remaining.count} more "
            f"connections ({remaining.reason})",
            hint=remaining.hint,
        )


def _once_all_left(clients: int, free: Callable[[], FreeConnections]) -> FreeConnections:
    """Wait a moment: closed connections, such as ours, count until the server notices."""
    deadline = time.monotonic() + LEAVING_MAX_S
    while (remaining := free()).count < clients and time.monotonic() < deadline:
        time.sleep(LEAVING_POLL_S)
    return remaining
