"""Whether autovacuum keeps up: the share of time it runs, and the dead rows that remain.

Pruning cleans up most of what HOT updates leave, without any vacuum; the rest is left to vacuum. A
pass takes about as long however many rows are dead, so rows removed per second are those of the
threshold at which it started, and no limit: it would remove more in each pass if more were dead. It
falls behind only if it runs nearly all the time, or if more rows are dead than it removes in a pass
and die during it. Short runs have few vacuums: without one, the pace is not known.
"""

from collections.abc import Mapping
from typing import Any

from dbdyno.answers.answer import Answer, Answered, Claim, Trials
from dbdyno.answers.grouping import by_level, chosen
from dbdyno.answers.table_size import rows_text
from dbdyno.answers.tables import or_nothing, table
from dbdyno.answers.vacuuming import Pace, pace_of
from dbdyno.explain.sentences import amount
from dbdyno.formatting import NOTHING, count, percent

VACUUMS_FEW = 3
_TOO_FEW = "too few vacuums finished to tell whether it keeps up"
NEARLY_ALWAYS = 0.9
"""The share of time from which on autovacuum has no reserve."""


def answer(trials: Trials, options: Mapping[str, Any]) -> Answered:
    """The claim is about the largest table on which a vacuum was seen."""
    levels = by_level(trials, chosen(trials, options.get("at")), str(options["over"]))
    found = {
        float(level): pace
        for level, among in levels.items()
        if (pace := pace_of(among)) is not None and pace.made
    }
    if not found:
        return Answered(claims=[], missing="no run produced dead rows that its server counted")
    shown = table(
        "Dead rows produced and removed",
        found.items(),
        {
            "rows": lambda at: rows_text(at[0]),
            "produced per second": lambda at: count(at[1].made_per_s),
            "left to vacuum per second": lambda at: count(at[1].left_to_vacuum_per_s),
            "autovacuums": lambda at: str(len(at[1].vacuums)),
            "removed per second while running": lambda at: or_nothing(at[1].removed_per_s, count),
            "running": lambda at: percent(at[1].at_work) if at[1].vacuums else NOTHING,
            "dead at the end": lambda at: (
                f"{count(at[1].dead_of_a_run)} "
                f"({percent(at[1].dead_of_a_run / max(at[1].live, 1.0))})"
            ),
        },
        note="Over all runs of a size; dead rows at the end are those of a run. What pruning does "
        "not clean up is left to vacuum. A pass removes more per second if more rows are dead.",
    )
    return Answered(claims=[_claim(found)], shown=[shown])


def _claim(found: Mapping[float, Pace]) -> Claim:
    seen = [rows for rows, pace in found.items() if pace.removed_per_s is not None]
    if not seen:
        return Claim(
            sentence="No autovacuum that removed rows finished in the runs: its pace is not known.",
            is_decided=False,
            doubt="Longer runs, or a lower autovacuum_vacuum_scale_factor, would show it.",
        )
    rows = max(seen)
    pace = found[rows]
    removed = pace.removed_per_s or 0.0
    few = len(pace.vacuums) < VACUUMS_FEW
    return Claim(
        sentence=f"At {rows_text(rows)} rows updates left {count(pace.made_per_s)} dead rows per "
        f"second, {count(pace.left_to_vacuum_per_s)} of them to vacuum; autovacuum removed "
        f"{count(removed)} per second while running, {percent(pace.at_work)} of the "
        f"time: {_TOO_FEW if few else _judged(pace)}.",
        is_decided=not few,
        effect=pace.at_work,
        doubt=f"Only {amount(len(pace.vacuums), 'vacuum', 'vacuums')} finished: those under way at "
        "the end have removed rows, too, which only their end reports."
        if few
        else "",
        evidence={"vacuums": len(pace.vacuums), "made_per_s": pace.made_per_s},
    )


def _judged(pace: Pace) -> str:
    if pace.dead_of_a_run > pace.dead_at_most:
        return (
            f"it does not keep up, because {count(pace.dead_of_a_run)} rows were dead at the end "
            f"of a run, but a pass removes and leaves no more than {count(pace.dead_at_most)}"
        )
    if pace.at_work > NEARLY_ALWAYS:
        return "it does not keep up, because it has no time left"
    return "it keeps up"


ANSWER = Answer(
    id="vacuum-pace",
    title="Whether autovacuum keeps up",
    options={"over": "the factor of rows", "at": "levels of other factors: those of updates"},
    answer=answer,
)
