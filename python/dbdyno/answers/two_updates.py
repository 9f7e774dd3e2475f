"""Two updates of a script: their times in each run, and the runs at one number of clients.

The engine times statements exactly; how the time divides into waiting and working is estimated from
session samples (``analysis/waits/lock_queue.py``), so the parts of a rare statement in a short run
are rough.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from dbdyno.analysis.waits.budget import known_budget
from dbdyno.analysis.waits.lock_queue import StatementTime, lock_queue, statement_means_ms
from dbdyno.answers.answer import Trial
from dbdyno.answers.measuring import Number, mean_of, over_runs
from dbdyno.explain.statements.sql import fits
from dbdyno.explain.statements.statements import statements_of, table_of
from dbdyno.formatting import count
from dbdyno.model.run import Run


class Pair(Struct, frozen=True):
    """The two statements by their labels and tables, in the order of the script."""

    first: str
    second: str
    tables: Mapping[str, str]

    @classmethod
    def of_run(cls, trial: Trial, statements: Mapping[str, str]) -> "Pair | None":
        """None unless the run timed both; ``statements`` are the tables by label."""
        places = {label: update_of(trial.run, table) for label, table in statements.items()}
        order = sorted((place, label) for label, place in places.items() if place is not None)
        return cls(order[0][1], order[1][1], statements) if len(order) == 2 else None

    def table(self, label: str) -> str:
        """The table that a label stands for."""
        return self.tables[label]


class Level(Struct, frozen=True):
    """The runs at one number of clients."""

    clients: float
    runs: Sequence[Trial]

    def mean_ms(self, table: str) -> float:
        """The mean latency of the table's update over the runs."""
        found = over_runs(self.runs, mean_ms_of(table))
        return found.value if found else 0.0

    def lock_share(self, table: str) -> float | None:
        """Share of the update's time; None if it was not sampled."""
        lock = mean_of(self.runs, lock_ms_of(table))
        working = mean_of(self.runs, working_ms_of(table))
        if lock is None or working is None or not lock + working:
            return None
        return lock / (lock + working)

    def waiting(self, table: str) -> float | None:
        """Mean number of clients that wait for a lock at the table's update."""
        return mean_of(self.runs, waiting_of(table))


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
