"""What is refused before the first transaction, once scripts and server are known."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from dbdyno.errors import DbdynoError
from dbdyno.model.frame import Survey
from dbdyno.model.plan import Plan, Protocol, QueryMode
from dbdyno.run.lua.commands import look_at
from dbdyno.run.tools import Tools
from dbdyno.targets.base import FreeConnections

if TYPE_CHECKING:
    from dbdyno.engine import Problem


def refuse_bad_scripts(tools: Tools, plan: Plan, warn: Callable[[str], None]) -> Survey | None:
    """Lets the engine judge the scripts; what one for sysbench says of itself."""
    if plan.lua is not None:
        return look_at(tools, plan, "run")
    _refuse_problems(tools.check_plan(plan), warn)
    return None


def _refuse_problems(problems: Sequence["Problem"], warn: Callable[[str], None]) -> None:
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
    if not problem.script or not problem.line:  # at no line of it
        return f"{problem.message}{near}"
    return f"{problem.script}:{problem.line}:{problem.column}: {problem.message}{near}"


def refuse_unknown_mode(mode: QueryMode | None, protocol: Protocol) -> None:
    """Not every protocol has every way for a statement to travel."""
    if mode == "extended" and protocol == "mysql":
        raise DbdynoError(
            code="usage",
            message="MySQL's protocol has no -M extended",
            hint="It has simple (text) and prepared (binary).",
        )


def refuse_too_many(clients: int, free: FreeConnections) -> None:
    """More clients than the server admits would fail one by one: it is said at once."""
    if clients > free.count:
        raise DbdynoError(
            code="too_many_clients",
            message=f"{clients} clients, but the server admits {free.count} more connections "
            f"({free.reason})",
            hint=free.hint,
        )
