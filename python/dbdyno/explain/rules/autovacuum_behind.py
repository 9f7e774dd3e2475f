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

from msgspec import Struct

from dbdyno.analysis.protocol import POSTGRESQL
from dbdyno.explain.autovacuum import Off, more_eager, vacuum_threshold, where_off
from dbdyno.explain.case import Case
from dbdyno.explain.growth import Course, course, time_to_double_s
from dbdyno.explain.needs import grown, known_objects, levels, server_facts
from dbdyno.explain.rule import NOTICED, NotFound, Outcome, Rule, found
from dbdyno.explain.settings import span_s
from dbdyno.formatting import count, seconds, significant
from dbdyno.model.record import Finding, Severity
from dbdyno.model.telemetry import ServerFacts

_SOURCE = "pg_stat_user_tables"
_NAPS_MIN = 2
_VISITS_MIN = 2
_GRAVE: tuple[tuple[float, Severity], ...] = ((1.0, "major"), (0.2, "minor"))
"""Dead rows per live row, and the severity from there on."""
_CAUSES: dict[Off, str] = {
    "": "autovacuum does not keep up",
    "server": "autovacuum is off",
    "table": "autovacuum is disabled for this table",
}


class _Behind(Struct, frozen=True):
    """A table's dead rows, what produces them, the threshold, and what could be set."""

    table: str
    dead: Course
    live: float
    made_per_s: float
    vacuums: float
    tolerated: float
    off: Off
    more_eager: list[str]

    @property
    def cleaned_per_s(self) -> float:
        """Rows per second cleaned up by vacuum and by pruning."""
        return max(self.made_per_s - self.dead.per_s, 0.0)

    @property
    def dead_share(self) -> float:
        """Dead rows per live row."""
        return self.dead.last / max(self.live, 1.0)

    @property
    def rises(self) -> bool:
        """Whether dead rows rise, rather than lie at two points of the same rise and fall."""
        usual = 0.0 if self.off else self.tolerated
        is_of_note = self.dead.per_s > NOTICED * self.made_per_s
        return is_of_note and self.dead.last - self.dead.first > usual


def look(case: Case) -> Outcome:
    """Examine the table with most dead rows per live row."""
    facts = server_facts(case)
    nap_s = span_s(facts, "autovacuum_naptime")
    judged = [_behind(case, facts, name) for name in known_objects(case, _SOURCE)]
    has_waited = (case.record.duration_s or 0.0) >= _NAPS_MIN * nap_s
    behind = [
        one
        for one in judged
        if one.dead.last > one.tolerated
        and one.rises
        and (one.vacuums >= _VISITS_MIN or one.off or has_waited)
    ]
    if not behind:
        return NotFound("no table has a rising number of dead rows above its vacuum threshold")
    return _finding(max(behind, key=lambda one: one.dead_share))


def _behind(case: Case, facts: ServerFacts, table: str) -> _Behind:
    live = float(levels(case, _SOURCE, "n_live_tup", table).value[-1])
    known = next((one for one in facts.tables if one.name == table), None)
    dead = course(levels(case, _SOURCE, "n_dead_tup", table))
    made = sum(grown(case, _SOURCE, name, table) for name in ("n_tup_upd", "n_tup_del"))
    return _Behind(
        table=table,
        dead=dead,
        live=live,
        made_per_s=made / max(dead.seconds, 1.0),
        vacuums=grown(case, _SOURCE, "autovacuum_count", table),
        tolerated=vacuum_threshold(facts, known, live),
        off=where_off(facts, known),
        more_eager=more_eager(facts, known),
    )


def _finding(one: _Behind) -> Finding:
    return found(
        f"{one.table} has {count(one.dead.last)} dead rows for {count(one.live)} live ones, and "
        f"{significant(one.dead.per_s)} more per second: {_CAUSES[one.off]}.",
        severity=next((grave for share, grave in _GRAVE if one.dead_share >= share), "note"),
        certainty="likely",
        evidence={
            "table": one.table,
            "dead_rows": one.dead.last,
            "live_rows": one.live,
            "made_per_s": one.made_per_s,
            "cleaned_per_s": one.cleaned_per_s,
            "tolerated": one.tolerated,
            "time_to_double_s": time_to_double_s(one.live, one.dead.per_s),
        },
        seen=[
            f"{significant(one.made_per_s)} rows per second became dead, "
            f"{significant(one.cleaned_per_s)} were cleaned up.",
            f"The vacuum threshold is {count(one.tolerated)} dead rows; autovacuum runs on this "
            f"table: {count(one.vacuums)}; dead rows per live row: {significant(one.dead_share)}.",
        ],
        why=f"Lookups read past dead versions, the cache holds them, and {_growth_text(one)}.",
        advice=[
            _remedy(one),
            "Check that no old transaction, replication slot or prepared transaction holds back "
            "the xmin horizon.",
        ],
        refute=f"Run again {_tried(one)}: dead rows must level off.",
    )


def _growth_text(one: _Behind) -> str:
    """The time to double is given only until the table has doubled."""
    if one.dead_share >= 1:
        return "the table is more than twice the size that its live rows need"
    return f"the table grows: at this rate it doubles in {seconds(one.live / one.dead.per_s)}"


def _tried(one: _Behind) -> str:
    """What would let autovacuum keep up; fewer dead rows if its settings are used up."""
    if one.off:
        return "with autovacuum on"
    if one.more_eager:
        return f"with {', '.join(one.more_eager)}"
    return "at half the rate (--rate)"


def _remedy(one: _Behind) -> str:
    if one.off == "server":
        return "ALTER SYSTEM SET autovacuum = on; SELECT pg_reload_conf();"
    if one.off == "table":
        return f"ALTER TABLE {one.table} RESET (autovacuum_enabled);"
    if one.more_eager:
        return f"ALTER TABLE {one.table} SET ({', '.join(one.more_eager)});"
    return (
        "Autovacuum already starts early here and runs without cost delay: produce fewer dead rows "
        "(fewer updates, or HOT updates), and raise autovacuum_work_mem."
    )


RULE = Rule(
    id="autovacuum_behind",
    title="Autovacuum does not keep up with dead rows",
    look=look,
    covers=frozenset({"table_growth"}),
    protocols=frozenset({POSTGRESQL}),
)
