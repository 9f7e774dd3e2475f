"""Which statements are sent as text although the query mode has parameters, and why.

Where a variable stands decides whether its value can be a parameter. The engine knows what no
server allows (quoted text, parts of names), the server itself knows the rest: both are asked before
the run, and the plan contains the answer.
"""

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from dbdyno.model.plan import Plan, Statement
from dbdyno.run.connected_server import ConnectedServer


def with_statements_as_text(
    plan: Plan,
    statements: Sequence[Statement],
    connected: ConnectedServer,
    say: Callable[[str], None],
) -> Plan:
    """Return the plan with the reasons why these statements take no parameters, which are told."""
    scripts = list(plan.scripts)
    for statement in statements:
        if why := statement.as_text or _refusal(connected, statement):
            script = scripts[statement.script]
            as_text = {**script.as_text, str(statement.index): why}
            scripts[statement.script] = replace(script, as_text=as_text)
            text = " ".join(statement.source.split())
            say(f"{script.name}:{statement.line}: sent as text, because {why}: {text}")
    return replace(plan, scripts=scripts)


def _refusal(connected: ConnectedServer, statement: Statement) -> str:
    with connected.target.understood("find out where it takes parameters"):
        refused = connected.target.parameters_refused(
            connected.control, statement.sql, statement.parameters
        )
    return f"the server takes no parameter there ({refused})" if refused else ""
