"""Two updates of a script and the runs at one number of clients, for answers about both."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from dbdyno.answers.answer import Trial
from dbdyno.answers.grouping import mean_of, over_runs
from dbdyno.answers.statement_times import lock_ms_of, mean_ms_of, waiting_of, working_ms_of


class Pair(Struct, frozen=True):
    """The two statements by their labels and tables, in the order of the script."""

    first: str
    second: str
    tables: Mapping[str, str]

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
