"""Vacuums of a run's tables: how long each took and how many dead rows it removed.

They come from the server's log where it was followed: only there a vacuum reports both. Analyze
alone does not count, and vacuums of the system catalogs are left out.
"""

import math
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from dbdyno.analysis.events.run_event import entries
from dbdyno.analysis.series.readings import level, total
from dbdyno.answers.answer import Trial
from dbdyno.model.counters import PgUserTables


class Vacuum(Struct, frozen=True):
    """A vacuum that ended in the measured part of a run, as its server's log reports."""

    table: str
    end_s: float
    """Since that part began; the vacuum may have begun before."""
    elapsed_s: float
    removed: float


class Pace(Struct, frozen=True):
    """Dead rows produced and removed in some runs of one kind; rates are per second."""

    runs: int
    seconds: float
    made: float
    vacuums: Sequence[Vacuum]
    dead_at_end: float
    live: float
    at_work: float
    """The share of the time in which the table with the busiest vacuums was being vacuumed."""

    @classmethod
    def of_run(cls, trial: Trial) -> "Pace | None":
        """One run; None if its server counted no dead rows."""
        run, duration_s = trial.run, trial.record.duration_s
        made = [total(run, counter) for counter in (PgUserTables.n_tup_upd, PgUserTables.n_tup_del)]
        dead, live = (
            level(run, counter) for counter in (PgUserTables.n_dead_tup, PgUserTables.n_live_tup)
        )
        if None in made or not duration_s or dead is None or live is None:
            return None
        vacuums = list(vacuums_of(trial))
        # Vacuums of one table never overlap; of each, what lies in the measured part counts.
        spent_s: dict[str, float] = {}
        for one in vacuums:
            spent_s[one.table] = spent_s.get(one.table, 0.0) + min(one.elapsed_s, one.end_s)
        return cls(
            runs=1,
            seconds=duration_s,
            made=sum(each or 0.0 for each in made),
            vacuums=vacuums,
            dead_at_end=float(dead.value[-1]),
            live=float(live.value[-1]),
            at_work=max(spent_s.values(), default=0.0) / duration_s,
        )

    @property
    def made_per_s(self) -> float:
        """Row versions per second that updates and deletes left behind."""
        return self.made / self.seconds

    @property
    def removed_per_s(self) -> float | None:
        """Rows removed per second while running; None if no vacuum removed anything."""
        elapsed_s = sum(one.elapsed_s for one in self.vacuums)
        removed = sum(one.removed for one in self.vacuums)
        return removed / elapsed_s if removed and elapsed_s else None

    @property
    def dead_of_a_run(self) -> float:
        """Dead rows at the end of a run, on average."""
        return self.dead_at_end / self.runs

    @property
    def dead_at_most(self) -> float:
        """Dead rows at any time while vacuums keep up: what a pass removes and what dies during it.

        A vacuum removes only what was dead when it started.
        """
        removed = max((one.removed for one in self.vacuums), default=0.0)
        elapsed_s = max((one.elapsed_s for one in self.vacuums), default=0.0)
        return removed + self.left_to_vacuum_per_s * elapsed_s

    @property
    def left_to_vacuum_per_s(self) -> float:
        """Dead rows per second that pruning left: removed by vacuums, or dead at the end."""
        removed = sum(one.removed for one in self.vacuums)
        return (removed + self.dead_at_end) / self.seconds


def pace_of(among: Iterable[Trial]) -> Pace | None:
    """Runs of one kind together; None if the server counted no dead rows."""
    paces = [one for trial in among if (one := Pace.of_run(trial)) is not None]
    if not paces:
        return None
    seconds = sum(one.seconds for one in paces)
    return Pace(
        runs=len(paces),
        seconds=seconds,
        made=sum(one.made for one in paces),
        vacuums=[vacuum for one in paces for vacuum in one.vacuums],
        dead_at_end=sum(one.dead_at_end for one in paces),
        live=sum(one.live for one in paces) / len(paces),
        at_work=sum(one.at_work * one.seconds for one in paces) / seconds,
    )


def vacuums_of(trial: Trial) -> Iterator[Vacuum]:
    """Vacuums of the tables that the run's statements use, which ended while it was measured."""
    facts = trial.run.before
    used = {table.name for table in facts.tables} if facts else set()
    for entry in entries(trial.run, "autovacuum"):
        elapsed_s, removed = entry.number("elapsed_s"), entry.number("removed")
        is_measured = 0 <= entry.time_s <= (trial.record.duration_s or 0.0)
        is_reported = not math.isnan(elapsed_s + removed)
        table = entry.values.get("table")
        if is_measured and is_reported and table in used:
            yield Vacuum(str(table), entry.time_s, elapsed_s, removed)
