"""Where the server's CPU time differs: each contrast by subsystem and by function of the server.

A study says which variant is cheaper; the profiles of its runs say in which part of the server.
Every subsystem of every contrast at all levels is judged together, and so is every function.
"""

from collections.abc import Mapping
from typing import Any

from dbdyno.analysis.compare.profile_differences import (
    changed_texts,
    interval_text,
    mostly,
    processes_text,
    signed_text,
    subsystem_text,
    time_text,
)
from dbdyno.answers.answer import Answer, Answered, Claim, ProfileOf, TableOf, Trials
from dbdyno.answers.level_contrasts import Contrasted, contrasted, heading, levels_text
from dbdyno.answers.tables import table
from dbdyno.formatting import NOTHING
from dbdyno.model.comparison import Comparison, ProfileDifference

_ROWS_MIN = 5
NOTE = (
    "Of each contrast all subsystems that differ by more than chance (*), and those that differ "
    "most: after less before, with the 95 % interval between runs of one block. The subsystems of "
    "all contrasts at all levels are judged together (Holm), and so are their functions; one that "
    "is half of the difference or more is named."
)


def answer(trials: Trials, options: Mapping[str, Any]) -> Answered:
    """A claim for each contrast that shows in the profiles, and what differs most in each."""
    factor = options.get("factor")
    found = {
        _title(trials, one): one.comparison
        for one in contrasted(trials)
        if factor in (None, one.contrast.factor) and one.comparison.server_subsystems
    }
    if not found:
        return Answered(
            claims=[],
            missing="no contrast has runs that were all profiled, as --telemetry full does",
        )
    changed = {
        title: texts
        for title, its in found.items()
        if (texts := changed_texts(its.server_subsystems, its.server_functions))
    }
    claims = [
        Claim(
            sentence=f"{title}, server CPU per transaction: {'; '.join(texts)}",
            is_decided=True,
        )
        for title, texts in changed.items()
    ]
    nothing = Claim(
        sentence="no subsystem and no function takes more or less CPU time beyond chance",
        is_decided=False,
    )
    drawn = [
        ProfileOf(
            title=title,
            after=found[title].after,
            subsystems=found[title].server_subsystems,
            functions=found[title].server_functions,
        )
        for title in changed or [*found][:1]
    ]
    return Answered(claims=claims or [nothing], shown=[_table(found), *drawn])


def _title(trials: Trials, of: Contrasted) -> str:
    at = f" at {levels_text(of.others)}" if of.others else ""
    return f"{heading(trials, of)}{at}"


def _table(found: Mapping[str, Comparison]) -> TableOf:
    rows: list[tuple[str, ProfileDifference, ProfileDifference | None]] = []
    for title, its in found.items():
        parts = its.server_subsystems
        shown = max(_ROWS_MIN, sum(part.has_changed for part in parts))
        rows += [(title, part, mostly(part, its.server_functions)) for part in parts[:shown]]
    return table(
        "Server CPU time per transaction by subsystem",
        rows,
        {
            "contrast": lambda row: row[0],
            "subsystem": lambda row: subsystem_text(row[1]),
            "processes": lambda row: processes_text(row[1]),
            "before": lambda row: time_text(row[1].before_us),
            "after": lambda row: time_text(row[1].after_us),
            "difference": lambda row: signed_text(row[1].difference_us),
            "95 % interval": lambda row: interval_text(row[1]),
            "*": lambda row: "*" if row[1].has_changed else "",
            "mostly": lambda row: row[2].function if row[2] else NOTHING,
        },
        texts=("contrast", "subsystem", "processes", "*", "mostly"),
        note=NOTE,
    )


ANSWER = Answer(
    id="server-cpu",
    title="Where the server's CPU time differs",
    options={"factor": "only the contrasts of this factor"},
    judges=False,
    answer=answer,
)
