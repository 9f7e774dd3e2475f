"""Parallel workers: statements wait for the processes that share their work.

Looks for: waits of statements with a parallel plan for their workers to start, for the rows that
these find, and for them to exit.

Arithmetic: the share of client time in such waits, from the session samples. Removing them gains a
factor of up to 1/(1 − w), as far as the CPUs have something left: meanwhile the workers work.

Source: PostgreSQL manual, parallel query and wait events.

Wrong when: the statement is a report that is meant to use several cores: without workers it takes
longer.
"""

from dbdyno.analysis.protocol import POSTGRESQL
from dbdyno.explain.case import Case
from dbdyno.explain.named_waits import shares_by_event, waiting_text
from dbdyno.explain.needs import client_time
from dbdyno.explain.rule import NOTICED, NotFound, Outcome, Rule, found
from dbdyno.explain.sentences import gain_of_waits
from dbdyno.explain.statements import for_workers
from dbdyno.formatting import percent


def look(case: Case) -> Outcome:
    """Report the waits of all statements together."""
    spent = client_time(case)
    waits = list(filter(for_workers, spent.parts))
    events = shares_by_event(spent, waits)
    share = sum(events.values())
    if share < NOTICED:
        return NotFound(f"statements waited for parallel workers for {percent(share)} of the time")
    return found(
        f"Clients spend {percent(share)} of their time waiting for parallel workers.",
        share=share,
        share_of="client time",
        certainty="likely",
        evidence={"events": events},
        seen=waiting_text(case, spent, waits),
        why="A statement with a parallel plan starts processes at each execution: it waits for "
        "them to start, for their rows, and for them to exit; and they take CPU time from other "
        "clients.",
        advice=[
            "Find out why it reads so much (an index may be missing); a short statement finishes "
            "sooner in its own process: max_parallel_workers_per_gather = 0 for the load's role."
        ],
        gain=gain_of_waits(case, share),
        refute="Run again with max_parallel_workers_per_gather = 0: the waits must disappear.",
    )


RULE = Rule(
    id="parallel_workers",
    title="Statements wait for parallel workers",
    look=look,
    accounts_for=frozenset({"other_wait"}),
    protocols=frozenset({POSTGRESQL}),
)
