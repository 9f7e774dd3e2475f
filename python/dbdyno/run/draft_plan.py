"""The plan of a run before there is a server, for checking scripts before anything starts."""

from dbdyno.model.plan import Address, Endpoint, Plan, Protocol, UnixSocket
from dbdyno.run.options import RunOptions
from dbdyno.run.plan import client_count, make_plan
from dbdyno.run.work import Work
from dbdyno.workloads.parameters import Values


def draft(options: RunOptions, work: Work, protocol: Protocol, *, seed: int) -> Plan:
    """Draft a plan with a dummy endpoint: the check of scripts does not need the address."""
    address = Address(unix=UnixSocket(path=""))
    nowhere = Endpoint(protocol=protocol, address=address, user="", database="")
    return plan_of(options, work, work.complete(), nowhere, sql_dialect=protocol, seed=seed)


def plan_of(  # noqa: PLR0913 - independent inputs
    options: RunOptions,
    work: Work,
    values: Values,
    endpoint: Endpoint,
    *,
    sql_dialect: str,
    seed: int,
) -> Plan:
    """Return the plan for this work, with the workload's scripts in this SQL dialect."""
    return make_plan(
        options,
        endpoint=endpoint,
        scripts=work.scripts(values, sql_dialect),
        variables=work.all_variables(values, client_count(options)),
        lua=work.lua,
        seed=seed,
    )
