"""Plans for tests, made from options as users give them."""

from collections.abc import Sequence

from dbdyno.model.plan import Address, Endpoint, Plan, Script, UnixSocket
from dbdyno.run.options.run_options import RunOptions
from dbdyno.run.plan import make_plan

ENDPOINT = Endpoint(
    address=Address(unix=UnixSocket(path="/tmp/.s.PGSQL.5432")), user="u", database="d"
)


SCRIPT = Script(name="s", text="select 1;")


def plan_of(
    endpoint: Endpoint = ENDPOINT,
    *,
    scripts: Sequence[Script] = (SCRIPT,),
    executors: int = 0,
    **options,
) -> Plan:
    return make_plan(
        RunOptions(**options),
        endpoint=endpoint,
        scripts=scripts,
        variables={"scale": 1},
        lua=None,
        seed=7,
        executors=executors,
    )
