"""Updates that touched no index (heap-only tuples), as PostgreSQL counts them per table.

Only counts: what prevents them in a single run is reported by the rules of ``explain``.
"""

from collections.abc import Iterable

from dbdyno.analysis.readings import total
from dbdyno.answers.answer import Trial

TABLES = "pg_stat_user_tables"


def counted(among: Iterable[Trial], name: str) -> float:
    """A counter of all tables, summed over the measured parts of all these runs."""
    return sum(total(trial.case.recording, TABLES, name) or 0.0 for trial in among)


def hot_share(among: Iterable[Trial]) -> float | None:
    """Share of all updates; None if none was counted, as on servers without HOT updates."""
    runs = list(among)
    updates = counted(runs, "n_tup_upd")
    return counted(runs, "n_tup_hot_upd") / updates if updates else None
