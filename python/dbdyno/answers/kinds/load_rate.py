"""How fast tables of each size were loaded, and what the time was spent on.

The numbers come from the study's record of its loads: other runs used copies of that data. There is
one load of each size, so there is no interval; what else the loading rate depends on is not
examined.
"""

from collections.abc import Mapping
from typing import Any

from dbdyno.answers.answer import Answer, Answered, Claim, TableOf, Trials
from dbdyno.answers.table_size import loads, rows_text
from dbdyno.answers.tables import or_nothing
from dbdyno.formatting import count, seconds

NOTICED_S = 0.01


def answer(trials: Trials, options: Mapping[str, Any]) -> Answered:
    """A claim over all sizes and the phases of each."""
    found = loads(trials, str(options["over"]))
    if not found:
        return Answered(claims=[], missing="the study found existing data and loaded none")
    rates = ", ".join(
        f"{count(load.rows_per_s)} rows per second at {rows_text(rows)}"
        for rows, load in found.items()
    )
    claim = Claim(
        sentence=f"Loading rate: {rates} rows.",
        is_decided=True,
        doubt="One load of each size, all phases included; small loads are mostly setup time.",
        evidence={f"{rows:.0f}": load.rows_per_s for rows, load in found.items()},
    )
    # Those that took noticeable time at any size, in the order in which they ran.
    phases = dict.fromkeys(
        phase
        for load in found.values()
        for phase, took_s in load.phases_s.items()
        if took_s > NOTICED_S
    )
    shown = TableOf(
        title="Loading rate and phases",
        columns=("rows", "rows per second", *phases),
        rows=[
            (
                rows_text(rows),
                count(load.rows_per_s),
                *(or_nothing(load.phases_s.get(phase), seconds) for phase in phases),
            )
            for rows, load in found.items()
        ],
        numeric=frozenset(range(2 + len(phases))),
        note="vacuum: freezing the filled table; keys: building its indexes.",
    )
    return Answered(claims=[claim], shown=[shown])


ANSWER = Answer(
    id="load-rate",
    title="Loading rate",
    options={"over": "the factor of rows"},
    answer=answer,
)
