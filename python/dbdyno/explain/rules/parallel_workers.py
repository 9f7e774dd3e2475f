"""Parallel workers: statements wait for the processes that share their work.

Looks for: waits of statements with a parallel plan for their workers to start, for the rows that
these find, and for them to exit.

Arithmetic: the share of client time in such waits, from the session samples. Removing them gains a
factor of up to 1/(1 − w), as far as the CPUs have something left: meanwhile the workers work.

Source: PostgreSQL manual, parallel query and wait events.

Wrong when: the statement is a report that is meant to use several cores: without workers it takes
longer.
"""

from typing import ClassVar

from dbdyno.explain.resources.named_waits import NamedWaits
from dbdyno.explain.rule import NOTICED, NotFound, Rule
from dbdyno.explain.statements.statements import for_workers
from dbdyno.formatting import percent
from dbdyno.model.run import Run


class ParallelWorkers(NamedWaits, frozen=True, kw_only=True):
    """The waits of all statements for their parallel workers: shares of client time by event."""

    @property
    def summary(self) -> str:
        share = percent(self.share or 0.0)
        return f"Clients spend {share} of their time waiting for parallel workers."

    why: ClassVar[str] = (
        "A statement with a parallel plan starts processes at each execution: it waits for them to "
        "start, for their rows, and for them to exit; and they take CPU time from other clients."
    )
    advice: ClassVar[list[str]] = [
        "Find out why it reads so much (an index may be missing); a short statement finishes "
        "sooner in its own process: max_parallel_workers_per_gather = 0 for the load's role."
    ]

    refute: ClassVar[str] = (
        "Run again with max_parallel_workers_per_gather = 0: the waits must disappear."
    )


def look(run: Run) -> ParallelWorkers | NotFound:
    """Report the waits of all statements together."""
    waits = ParallelWorkers.of(run, for_workers)
    share = waits.share or 0.0
    if share < NOTICED:
        return NotFound(f"statements waited for parallel workers for {percent(share)} of the time")
    return waits


RULE = Rule(
    id="parallel_workers",
    title="Statements wait for parallel workers",
    look=look,
    accounts_for=frozenset({"other_wait"}),
    needs=frozenset({"parallel_queries"}),
)
