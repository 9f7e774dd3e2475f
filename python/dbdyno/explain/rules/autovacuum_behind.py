"""Autovacuum falls behind: rows become dead faster than they are cleaned up.

Looks for: tables with more dead rows than their vacuum threshold, whose number still rises by more
than it does between two visits of autovacuum.

Arithmetic: rows made dead per second are updates plus deletes; rows cleaned up per second are those
minus the increase in dead rows (pruning cleans up too). When the dead rows exceed threshold + scale
factor × rows, as set for the table or else for the server, and from version 18 on at most
autovacuum_vacuum_max_threshold, and still rise, autovacuum does not keep up. While it does, their
number rises and falls by about that threshold, so a smaller increase over the run is none, unless
autovacuum is off; nor is one of less than 3 % of the rows made dead, all others of which were
cleaned up. The time to double is the number of live rows over the increase per second; it is
reported only while there are fewer dead rows than live ones: after that the table has doubled.

Source: PostgreSQL manual, the autovacuum daemon (vacuum threshold).

Wrong when: the run is short compared with autovacuum_naptime: between two visits dead rows always
rise. A shorter run is judged only if autovacuum has processed the table twice, or is off.
"""

from collections.abc import Sequence

from dbdyno.analysis.summarize import full_record
from dbdyno.explain.needs import grown, known_objects, levels, server_facts
from dbdyno.explain.resources.autovacuum import Off, more_eager, vacuum_threshold, where_off
from dbdyno.explain.resources.growth import course, time_to_double_s
from dbdyno.explain.resources.settings import span_s
from dbdyno.explain.rule import NOTICED, Aside, Claim, NotFound, Rule
from dbdyno.formatting import count, seconds, significant
from dbdyno.model.counters import PgUserTables
from dbdyno.model.record import Severity
from dbdyno.model.run import Run
from dbdyno.model.telemetry import ServerFacts

_NAPS_MIN = 2
_VISITS_MIN = 2
_GRAVE: tuple[tuple[float, Severity], ...] = ((1.0, "major"), (0.2, "minor"))
"""Dead rows per live row, and the severity from there on."""
_CAUSES: dict[Off, str] = {
    "": "autovacuum does not keep up",
    "server": "autovacuum is off",
    "table": "autovacuum is disabled for this table",
}


class AutovacuumBehind(Claim, frozen=True, kw_only=True):
    """A table's dead rows, what produces them, the threshold, and what could be set."""

    table: str
    dead_rows: float
    live_rows: float
    made_per_s: float
    cleaned_per_s: float
    """By vacuum and by pruning."""
    tolerated: float
    time_to_double_s: float | None
    more_per_s: Aside[float]
    vacuums: Aside[float]
    off: Aside[Off] = ""
    more_eager: Aside[Sequence[str]] = ()

    @property
    def dead_share(self) -> float:
        """Dead rows per live row."""
        return self.dead_rows / max(self.live_rows, 1.0)

    @property
    def severity(self) -> Severity:
        return next((grave for share, grave in _GRAVE if self.dead_share >= share), "note")

    @property
    def summary(self) -> str:
        return (
            f"{self.table} has {count(self.dead_rows)} dead rows for {count(self.live_rows)} live "
            f"ones, and {significant(self.more_per_s)} more per second: {_CAUSES[self.off]}."
        )

    @property
    def seen(self) -> list[str]:
        return [
            f"{significant(self.made_per_s)} rows per second became dead, "
            f"{significant(self.cleaned_per_s)} were cleaned up.",
            f"The vacuum threshold is {count(self.tolerated)} dead rows; autovacuum runs on this "
            f"table: {count(self.vacuums)}; dead rows per live row: "
            f"{significant(self.dead_share)}.",
        ]

    @property
    def why(self) -> str:
        """The time to double is given only until the table has doubled."""
        growth = "the table is more than twice the size that its live rows need"
        if self.dead_share < 1:
            doubles_s = self.live_rows / self.more_per_s
            growth = f"the table grows: at this rate it doubles in {seconds(doubles_s)}"
        return f"Lookups read past dead versions, the cache holds them, and {growth}."

    @property
    def advice(self) -> list[str]:
        if self.off == "server":
            remedy = "ALTER SYSTEM SET autovacuum = on; SELECT pg_reload_conf();"
        elif self.off == "table":
            remedy = f"ALTER TABLE {self.table} RESET (autovacuum_enabled);"
        elif self.more_eager:
            remedy = f"ALTER TABLE {self.table} SET ({', '.join(self.more_eager)});"
        else:
            remedy = (
                "Autovacuum already starts early here and runs without cost delay: produce fewer "
                "dead rows (fewer updates, or HOT updates), and raise autovacuum_work_mem."
            )
        return [
            remedy,
            "Check that no old transaction, replication slot or prepared transaction holds back "
            "the xmin horizon.",
        ]

    @property
    def refute(self) -> str:
        """What would let autovacuum keep up; fewer dead rows if its settings are used up."""
        tried = "at half the rate (--rate)"
        if self.off:
            tried = "with autovacuum on"
        elif self.more_eager:
            tried = f"with {', '.join(self.more_eager)}"
        return f"Run again {tried}: dead rows must level off."


def look(run: Run) -> AutovacuumBehind | NotFound:
    """Examine the table with most dead rows per live row."""
    facts = server_facts(run)
    nap_s = span_s(facts, "autovacuum_naptime")
    has_waited = (full_record(run).duration_s or 0.0) >= _NAPS_MIN * nap_s
    found = [_if_behind(run, facts, name) for name in known_objects(run, PgUserTables.source)]
    behind = [one for one in found if one and (one.vacuums >= _VISITS_MIN or one.off or has_waited)]
    if not behind:
        return NotFound("no table has a rising number of dead rows above its vacuum threshold")
    return max(behind, key=lambda one: one.dead_share)


def _if_behind(run: Run, facts: ServerFacts, table: str) -> AutovacuumBehind | None:
    """None if its dead rows are tolerated, or lie at two points of the same rise and fall."""
    live = float(levels(run, PgUserTables.n_live_tup, table).value[-1])
    known = next((one for one in facts.tables if one.name == table), None)
    dead = course(levels(run, PgUserTables.n_dead_tup, table))
    made = sum(
        grown(run, counter, table) for counter in (PgUserTables.n_tup_upd, PgUserTables.n_tup_del)
    )
    made_per_s = made / max(dead.seconds, 1.0)
    vacuums = grown(run, PgUserTables.autovacuum_count, table)
    tolerated, off = vacuum_threshold(facts, known, live), where_off(facts, known)
    usual = 0.0 if off else tolerated
    rises = dead.per_s > NOTICED * made_per_s and dead.last - dead.first > usual
    if dead.last <= tolerated or not rises:
        return None
    return AutovacuumBehind(
        table=table,
        dead_rows=dead.last,
        live_rows=live,
        made_per_s=made_per_s,
        cleaned_per_s=max(made_per_s - dead.per_s, 0.0),
        tolerated=tolerated,
        time_to_double_s=time_to_double_s(live, dead.per_s),
        more_per_s=dead.per_s,
        vacuums=vacuums,
        off=off,
        more_eager=more_eager(facts, known),
    )


RULE = Rule(
    id="autovacuum_behind",
    title="Autovacuum does not keep up with dead rows",
    look=look,
    needs=frozenset({"autovacuum"}),
)
