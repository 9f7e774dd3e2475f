"""Vacuums of a run's tables: how long each took and how many dead rows it removed.

They come from the server's log where it was followed: only there a vacuum reports both. Analyze
alone does not count, and vacuums of the system catalogs are left out.
"""

import math
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from dbdyno.analysis.readings import level, total
from dbdyno.analysis.run_event import entries
from dbdyno.answers.answer import Trial

TABLES = "pg_stat_user_tables"


class Vacuum(Struct, frozen=True):
    """A vacuum that ended while the server's log was followed."""

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

    @property
    def made_per_s(self) -> float:
        """Row versions per second that updates and deletes left behind."""
        return self.made / self.seconds

    @property
    def at_work(self) -> float:
        """The share of the time in which a vacuum was running."""
        return sum(one.elapsed_s for one in self.vacuums) / self.seconds

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
    paces = [one for trial in among if (one := _of_run(trial)) is not None]
    if not paces:
        return None
    return Pace(
        runs=len(paces),
        seconds=sum(one.seconds for one in paces),
        made=sum(one.made for one in paces),
        vacuums=[vacuum for one in paces for vacuum in one.vacuums],
        dead_at_end=sum(one.dead_at_end for one in paces),
        live=sum(one.live for one in paces) / len(paces),
    )


def vacuums_of(trial: Trial) -> Iterator[Vacuum]:
    """Vacuums of the tables that the run's statements use, which ended while it was measured."""
    facts = trial.case.before
    used = {table.name for table in facts.tables} if facts else set()
    for entry in entries(trial.case.recording, "autovacuum"):
        elapsed_s, removed = entry.number("elapsed_s"), entry.number("removed")
        is_measured = 0 <= entry.time_s <= (trial.record.duration_s or 0.0)
        is_reported = not math.isnan(elapsed_s + removed)
        if is_measured and is_reported and entry.values.get("table") in used:
            yield Vacuum(elapsed_s, removed)


def _of_run(trial: Trial) -> Pace | None:
    recording, duration_s = trial.case.recording, trial.record.duration_s
    made = [total(recording, TABLES, name) for name in ("n_tup_upd", "n_tup_del")]
    dead, live = (level(recording, TABLES, name) for name in ("n_dead_tup", "n_live_tup"))
    if None in made or not duration_s or dead is None or live is None:
        return None
    return Pace(
        runs=1,
        seconds=duration_s,
        made=sum(each or 0.0 for each in made),
        vacuums=list(vacuums_of(trial)),
        dead_at_end=float(dead.value[-1]),
        live=float(live.value[-1]),
    )
