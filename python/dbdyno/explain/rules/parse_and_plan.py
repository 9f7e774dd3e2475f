"""The server parses and plans the same statements at each execution.

Looks for: CPU time in the parser and the planner, in backends that serve the load.

Arithmetic: samples of the profile in these functions, and their part of what memory, the catalog
and libraries took, over all samples of these backends; or the time of planning that the server
reported for the statements before the load, times their executions, over the CPU time of these
backends, if that is more. At most it is all but what surrounds statements, since planning also
searches tables and indexes. That part of the clients' time on a CPU, and, of
their time waiting for one, the part of the CPU time in use. Prepared statements save what is
parsed, and what is planned as far as the server keeps a plan for all values. MariaDB and MySQL keep
none: only parsing counts there, and of a prepared statement nothing.

Source: PostgreSQL manual, *PREPARE*; MariaDB manual, *PREPARE Statement*.

Wrong when: the plan has to fit the values: then a plan for all of them is slower.
"""

from typing import ClassVar

from dbdyno.explain.needs import committed
from dbdyno.explain.resources.server_work import (
    AROUND_STATEMENTS,
    Served,
    WorkClaim,
    claim_of,
    load_us,
    share_of_work,
    with_services,
    work_on,
)
from dbdyno.explain.rule import NotFound, Rule
from dbdyno.explain.statements.statements import times_run
from dbdyno.model.run import Run
from dbdyno.model.telemetry import ServerFacts

ORDINARY = 0.15
"""Of the CPU time for a load: what one without such a problem spends on it as well."""


class ParseAndPlan(WorkClaim, frozen=True, kw_only=True):
    """Parsing, analysis, planning, and the choice of partitions."""

    what: ClassVar[str] = "Parsing and planning"
    why: ClassVar[str] = (
        "The texts are the same each time but for their values: what the server finds "
        "out, it throws away."
    )
    advice: ClassVar[list[str]] = [
        (
            "Prepare statements once for each connection (-M prepared); if they are, and "
            "are planned nevertheless, set plan_cache_mode = force_generic_plan; with "
            "many partitions, name the partition key in each condition."
        )
    ]
    refute: ClassVar[str] = "Run again with -M prepared: throughput must rise by this part."


class ParsingAlone(ParseAndPlan, frozen=True, kw_only=True):
    """What prepared statements save where plans are not kept."""

    what: ClassVar[str] = "Parsing"
    title: ClassVar[str] = "Statements parsed anew each time"
    advice: ClassVar[list[str]] = [
        (
            "Prepare statements once for each connection (-M prepared). They are planned at each "
            "execution nevertheless."
        )
    ]


def look(run: Run) -> WorkClaim | NotFound:
    """By the profile, and by the time of planning that the server reported."""
    if run.database.has("replanning"):
        return _parsing_alone(run)
    is_meant = work_on("parsing", "planning", "partitions")
    # The planner also searches tables and indexes, and uses functions of the executor.
    most = 1.0 - share_of_work(run, work_on(*AROUND_STATEMENTS))
    # A single plan beside a busy host takes longer than each of many.
    whole = max(with_services(run, is_meant).whole, min(_reported_share(run), most))
    served = Served(whole, most)
    return claim_of(run, ParseAndPlan, is_meant, ORDINARY, served)


def _parsing_alone(run: Run) -> WorkClaim | NotFound:
    parsing = work_on("parsing")
    served = with_services(run, parsing)
    if run.plan.query_mode == "prepared":
        return NotFound("statements are prepared, and this server plans at each execution")
    return claim_of(run, ParsingAlone, parsing, ORDINARY, served)


def _reported_share(run: Run) -> float:
    """By the server's own clock; 0 where it reported nothing, or statements are prepared."""
    if run.plan.query_mode == "prepared":
        return 0.0
    planning_us = 1e3 * sum(
        (plan.planning_ms or 0.0) * times_run(run, plan.statement)
        for plan in (run.before or run.after or ServerFacts()).plans
    )
    parsing = share_of_work(run, work_on("parsing"))
    return parsing + planning_us / committed(run) / max(load_us(run), 1e-9)


RULE = Rule(
    id="parse_and_plan",
    title="Statements parsed and planned anew each time",
    look=look,
    accounts_for=frozenset({"cpu", "cpu_queue"}),
)
