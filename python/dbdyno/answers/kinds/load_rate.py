"""How fast tables of each size were loaded, and what the time was spent on.

The numbers come from the study's record of its loads: other runs used copies of that data. There is
one load of each size, so there is no interval; what else the loading rate depends on is not
examined.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from dbdyno.answers.answer import Answer, Answered, Claim, TableOf, Trials
from dbdyno.answers.table_size import loads, rows_text
from dbdyno.formatting import NOTHING, count, seconds
from dbdyno.model.study import DataLoad

NOTICED_S = 0.01


def answer(trials: Trials, options: Mapping[str, Any]) -> Answered:
    """A claim over all sizes and the phases of each."""
    found = loads(trials, str(options["over"]))
    if not found:
        return Answered(claims=[], missing="the study found existing data and loaded none")
    return Answered(claims=[_claim(found)], shown=[_table(found)])


def _claim(found: Mapping[float, DataLoad]) -> Claim:
    rates = ", ".join(
        f"{count(load.rows_per_s)} rows per second at {rows_text(rows)}"
        for rows, load in found.items()
    )
    return Claim(
        sentence=f"Loading rate: {rates} rows.",
        is_decided=True,
        doubt="One load of each size, all phases included; small loads are mostly setup time.",
        evidence={f"{rows:.0f}": load.rows_per_s for rows, load in found.items()},
    )


def _table(found: Mapping[float, DataLoad]) -> TableOf:
    phases = _long_phases(found.values())
    return TableOf(
        title="Loading rate and phases",
        columns=("rows", "rows per second", *phases),
        rows=[
            (
                rows_text(rows),
                count(load.rows_per_s),
                *(_took(load, phase) for phase in phases),
            )
            for rows, load in found.items()
        ],
        numeric=frozenset(range(2 + len(phases))),
        note="vacuum: freezing the filled table; keys: building its indexes.",
    )


def _long_phases(loads: Iterable[DataLoad]) -> list[str]:
    """The phases that took noticeable time at any size, in the order in which they ran."""
    long = (name for load in loads for name, took_s in load.phases_s.items() if took_s > NOTICED_S)
    return list(dict.fromkeys(long))


def _took(load: DataLoad, phase: str) -> str:
    return seconds(load.phases_s[phase]) if phase in load.phases_s else NOTHING


ANSWER = Answer(
    id="load-rate",
    title="Loading rate",
    options={"over": "the factor of rows"},
    answer=answer,
)
