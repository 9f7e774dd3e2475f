"""Updates that touched no index (heap-only tuples), as PostgreSQL counts them per table.

Only counts: what prevents them in a single run is reported by the rules of ``explain``.
"""

from collections.abc import Iterable

from dbdyno.analysis.series.readings import total
from dbdyno.answers.answer import Trial
from dbdyno.model.counters import Counter, PgUserTables


def counted(among: Iterable[Trial], counter: Counter) -> float:
    """A counter of all tables, summed over the measured parts of all these runs."""
    return sum(total(trial.run, counter) or 0.0 for trial in among)


def hot_share(among: Iterable[Trial]) -> float | None:
    """Share of all updates; None if none was counted, as on servers without HOT updates."""
    runs = list(among)
    updates = counted(runs, PgUserTables.n_tup_upd)
    return counted(runs, PgUserTables.n_tup_hot_upd) / updates if updates else None
