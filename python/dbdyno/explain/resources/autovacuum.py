"""How autovacuum treats a table: by the table's own settings, or else by the server's.

(PostgreSQL manual, *The Autovacuum Daemon*.) A table's own settings are known only if a statement
of the load uses it. Whether autovacuum keeps up is not judged here.
"""

from typing import Literal, TypeAlias

from dbdyno.analysis.series.readings import level
from dbdyno.explain.needs import LackingError, needed
from dbdyno.explain.resources.settings import is_off
from dbdyno.model.counters import PgUserTables
from dbdyno.model.run import Run
from dbdyno.model.telemetry import ServerFacts, TableFacts

Off: TypeAlias = Literal["", "server", "table"]

_MOST = "autovacuum_vacuum_max_threshold"
_DELAY = "autovacuum_vacuum_cost_delay"
_AS_VACUUM = "-1"
"""The delay is then that of VACUUM."""
# Settings with which it starts early and works without pauses.
_EAGER = {"autovacuum_vacuum_scale_factor": 0.01, _DELAY: 0.0}


def vacuum_threshold(facts: ServerFacts, table: TableFacts | None, rows: float) -> float:
    """Number of dead rows that it tolerates: threshold + scale factor × rows.

    From version 18 a setting limits it, unless that is -1.
    """
    threshold = _number(facts, table, "autovacuum_vacuum_threshold")
    tolerated = threshold + _number(facts, table, "autovacuum_vacuum_scale_factor") * rows
    most = float(_setting(facts, table, _MOST) or -1)
    return tolerated if most < 0 else min(tolerated, most)


def where_off(facts: ServerFacts, table: TableFacts | None) -> Off:
    """Where autovacuum is turned off, if it is."""
    if is_off(facts, "autovacuum"):
        return "server"
    return "table" if table and table.autovacuum.get("autovacuum_enabled") == "false" else ""


def more_eager(facts: ServerFacts, table: TableFacts | None) -> list[str]:
    """Settings that would still make it start earlier and work faster: ``name = value``."""
    current = {name: _setting(facts, table, name) for name in _EAGER}
    return [
        f"{name} = {value:g}"
        for name, value in _EAGER.items()
        if (now := current[name]) is None or float(now) > value
    ]


def pauses(facts: ServerFacts, table: TableFacts | None) -> bool:
    """Whether it pauses now and then in its work on a table, as it does by default."""
    delay = _setting(facts, table, _DELAY)
    return delay is None or float(delay) > 0


def leaves_more(run: Run, facts: ServerFacts, table: TableFacts | None, name: str) -> bool:
    """Whether a table has more dead rows than are tolerated, and more than at the beginning.

    Not if it is not known.
    """
    live, dead = (
        level(run, counter, name) for counter in (PgUserTables.n_live_tup, PgUserTables.n_dead_tup)
    )
    if live is None or dead is None:
        return False
    try:
        tolerated = vacuum_threshold(facts, table, float(live.value[-1]))
    except LackingError:
        return False
    first, last = float(dead.value[0]), float(dead.value[-1])
    return last > tolerated and last > first


def _number(facts: ServerFacts, table: TableFacts | None, name: str) -> float:
    return float(needed(_setting(facts, table, name), f"the setting {name} was not recorded"))


def _setting(facts: ServerFacts, table: TableFacts | None, name: str) -> str | None:
    own = table.autovacuum.get(name) if table else None
    value = facts.settings.get(name) if own is None else own
    if name == _DELAY and value == _AS_VACUUM:
        return facts.settings.get("vacuum_cost_delay")
    return value
