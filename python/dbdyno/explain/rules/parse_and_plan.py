"""The server parses and plans the same statements at each execution.

Looks for: CPU time in the parser and the planner, in backends that serve the load.

Arithmetic: samples of the profile in these functions, over all samples of these backends; that part
of the clients' time on a CPU, and, of their time waiting for one, the part of the CPU time in use.
Prepared statements save what is parsed, and what is planned as far as the server keeps a plan for
all values.

Source: PostgreSQL manual, *PREPARE*; MariaDB manual, *PREPARE Statement*.

Wrong when: the plan has to fit the values: then a plan for all of them is slower.
"""

from typing import ClassVar

from dbdyno.explain.resources.server_work import WorkClaim, claim_of, work_on
from dbdyno.explain.rule import NotFound, Rule
from dbdyno.model.run import Run

ORDINARY = 0.1
"""Of the CPU time for a load: what one without such a problem spends on it as well."""


class ParseAndPlan(WorkClaim, frozen=True, kw_only=True):
    """Parsing, analysis, planning, and the choice of partitions."""

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


def look(run: Run) -> WorkClaim | NotFound:
    """By the profile alone."""
    return claim_of(
        run,
        ParseAndPlan,
        "Parsing and planning",
        work_on("parsing", "planning", "partitions"),
        ORDINARY,
    )


RULE = Rule(
    id="parse_and_plan",
    title="Statements parsed and planned anew each time",
    look=look,
    accounts_for=frozenset({"cpu", "cpu_queue"}),
)
