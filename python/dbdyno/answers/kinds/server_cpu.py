"""Where the server's CPU time differs: each contrast by subsystem and by function of the server.

A study says which variant is cheaper; the profiles of its runs say in which part of the server.
Every subsystem of every contrast at all levels is judged together, and so is every function.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dbdyno.analysis.compare.profile_differences import (
    changed_texts,
    interval_text,
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
    "Of each contrast all that differs by more than chance (*), and what differs most: after less "
    "before, with the 95 % interval between runs of one block. Judged together are all subsystems, "
    "and all functions, of all contrasts at all levels (Holm)."
)


def answer(trials: Trials, options: Mapping[str, Any]) -> Answered:
    """A claim for each contrast that shows in the profiles, and what differs most in each."""
    factor = options.get("factor")
    found = [
        one
        for one in contrasted(trials)
        if factor in (None, one.contrast.factor) and one.comparison.server_subsystems
    ]
    if not found:
        return Answered(
            claims=[],
            missing="no contrast has runs that were all profiled, as --telemetry full does",
        )
    claims = [
        Claim(
            sentence=f"{_title(trials, of)}, server CPU per transaction: {', '.join(changed)}",
            is_decided=True,
        )
        for of in found
        if (changed := _changed(of))
    ]
    nothing = Claim(
        sentence="no subsystem and no function takes more or less CPU time beyond chance",
        is_decided=False,
    )
    drawn = [of for of in found if _changed(of)] or found[:1]
    return Answered(
        claims=claims or [nothing],
        shown=[
            _table(trials, "By subsystem", found, lambda of: of.server_subsystems),
            _table(trials, "By function", found, lambda of: of.server_functions),
            *(
                ProfileOf(
                    title=_title(trials, of),
                    after=of.comparison.after,
                    subsystems=of.comparison.server_subsystems,
                    functions=of.comparison.server_functions,
                )
                for of in drawn
            ),
        ],
    )


def _changed(of: Contrasted) -> list[str]:
    of_functions = changed_texts(of.comparison.server_functions)
    return [*changed_texts(of.comparison.server_subsystems), *of_functions]


def _title(trials: Trials, of: Contrasted) -> str:
    at = f" at {levels_text(of.others)}" if of.others else ""
    return f"{heading(trials, of)}{at}"


def _table(
    trials: Trials,
    title: str,
    found: Sequence[Contrasted],
    parts_of: Callable[[Comparison], Sequence[ProfileDifference]],
) -> TableOf:
    rows: list[tuple[Contrasted, ProfileDifference]] = []
    for of in found:
        parts = parts_of(of.comparison)
        shown = max(_ROWS_MIN, sum(part.has_changed for part in parts))
        rows += [(of, part) for part in parts[:shown]]
    return table(
        title,
        rows,
        {
            "contrast": lambda row: heading(trials, row[0]),
            "at": lambda row: levels_text(row[0].others) or "all",
            "function": lambda row: row[1].function or "all",
            "subsystem": lambda row: subsystem_text(row[1]),
            "processes": lambda row: processes_text(row[1]),
            "before": lambda row: time_text(row[1].before_us),
            "after": lambda row: time_text(row[1].after_us),
            "difference": lambda row: signed_text(row[1].difference_us),
            "95 % interval": lambda row: interval_text(row[1]),
            "beyond chance": lambda row: "*" if row[1].has_changed else NOTHING,
        },
        texts=("contrast", "at", "function", "subsystem", "processes", "beyond chance"),
        note=NOTE,
    )


ANSWER = Answer(
    id="server-cpu",
    title="Where the server's CPU time differs",
    options={"factor": "only the contrasts of this factor"},
    judges=False,
    answer=answer,
)
