"""Which statements are sent as text although the query mode has parameters, and why.

Where a variable stands decides whether its value can be a parameter. The engine knows what no
server allows (quoted text, parts of names), the server itself knows the rest: both are asked before
the run, and the plan contains the answer.
"""

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from dbdyno.model.plan import Plan, Statement
from dbdyno.run.connected_server import ConnectedServer
from dbdyno.targets.base import Parameters


def with_statements_as_text(
    plan: Plan,
    statements: Sequence[Statement],
    connected: ConnectedServer,
    say: Callable[[str], None],
) -> Plan:
    """Return the plan with the reasons why these statements take no parameters, which are told.

    For ``-M extended``, in which the engine describes no statement, with the types of the others'
    parameters: a number that does not fit is sent with a wider one.
    """
    scripts = list(plan.scripts)
    for statement in statements:
        script, index = scripts[statement.script], str(statement.index)
        asked = Parameters() if statement.as_text else _asked(connected, statement)
        refusal = asked.refusal and f"the server takes no parameter there ({asked.refusal})"
        if why := statement.as_text or refusal:
            script = replace(script, as_text={**script.as_text, index: why})
            text = " ".join(statement.source.split())
            say(f"{script.name}:{statement.line}: sent as text, because {why}: {text}")
        elif asked.types and plan.query_mode == "extended":
            types = {**script.parameter_types, index: asked.types}
            script = replace(script, parameter_types=types)
        scripts[statement.script] = script
    return replace(plan, scripts=scripts)


def _asked(connected: ConnectedServer, statement: Statement) -> Parameters:
    with connected.target.understood("find out where it takes parameters"):
        return connected.target.parameters(connected.control, statement.sql, statement.parameters)
