"""The time of the statement that updates a table in each run, split into waiting and working.

The engine times statements exactly; the split is estimated from session samples
(``analysis/waits/lock_queue.py``), so the parts of a rare statement in a short run are rough.
"""

from dbdyno.analysis.waits.budget import known_budget
from dbdyno.analysis.waits.lock_queue import StatementTime, lock_queue, statement_means_ms
from dbdyno.answers.answer import Trial
from dbdyno.answers.grouping import Number
from dbdyno.explain.statements.sql import fits
from dbdyno.explain.statements.statements import statements_of, table_of
from dbdyno.formatting import count
from dbdyno.model.run import Run


def update_of(run: Run, table: str) -> int | None:
    """The number of the first statement that ran and updates the table."""
    ran = statement_means_ms(run)
    found = (
        one.number
        for one in statements_of(run)
        if one.number in ran and one.sql.verb == "update" and fits(one.sql.written_table, table)
    )
    return next(found, None)


def mean_ms_of(table: str) -> Number:
    """The mean latency of the table's update."""

    def number(trial: Trial) -> float | None:
        place = update_of(trial.run, table)
        return None if place is None else statement_means_ms(trial.run)[place]

    return number


def lock_ms_of(table: str) -> Number:
    """The part spent waiting for locks; None if locks were not sampled."""

    def number(trial: Trial) -> float | None:
        found = time_of(trial.run, table)
        return found.lock_ms if found else None

    return number


def working_ms_of(table: str) -> Number:
    """The part that is not spent waiting for locks."""

    def number(trial: Trial) -> float | None:
        found = time_of(trial.run, table)
        return found.mean_ms - found.lock_ms if found else None

    return number


def waiting_of(table: str) -> Number:
    """Mean number of clients that wait for a lock at the table's update."""

    def number(trial: Trial) -> float | None:
        run = trial.run
        place, spent = update_of(run, table), known_budget(run)
        if spent is None or place is None:
            return None
        return spent.share("lock", statement=place) * run.plan.clients

    return number


def rows_of(run: Run, table: str) -> float | None:
    """Rows of the table before the load."""
    facts = table_of(run.before, table) if run.before else None
    return facts.rows if facts and facts.rows > 0 else None


def time_of(run: Run, table: str) -> StatementTime | None:
    """The split of the table's update; None if no sample shows it."""
    place = update_of(run, table)
    queue = lock_queue(run)
    if queue is None:
        return None
    return next((one for one in queue.statements if one.statement == place), None)


def clients_text(clients: float) -> str:
    """``1 client``, ``20 clients``."""
    return f"{count(clients)} {'client' if clients == 1 else 'clients'}"
