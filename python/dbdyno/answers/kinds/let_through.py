"""What each level let through: more rows that break a condition of the workload's data than before.

A run is the unit: the claim is in how many runs anything got through. That nothing did in a few
runs is no promise, and the claim says how often it may happen all the same.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from dbdyno.analysis.statistics.estimate import CONFIDENCE
from dbdyno.answers.answer import Answer, Answered, Claim, Trial, Trials
from dbdyno.answers.grouping import by_level, chosen
from dbdyno.answers.measuring import mean_of
from dbdyno.answers.tables import Points, number_of_runs, or_nothing
from dbdyno.explain.sentences import amount
from dbdyno.formatting import percent, significant
from dbdyno.model.record import CheckRecord


def answer(trials: Trials, options: Mapping[str, Any]) -> Answered:
    """A claim for each variant and level, a row for each point."""
    factor, by, condition = (str(options[name]) for name in ("factor", "by", "condition"))

    def check(trial: Trial) -> CheckRecord | None:
        return next((one for one in trial.record.checks if one.id == condition), None)

    def rows(trial: Trial) -> float | None:
        found = check(trial)
        return max(float(found.rows - (found.rows_before or 0)), 0.0) if found else None

    among = [one for one in chosen(trials, options.get("at")) if check(one)]
    if not among:
        return Answered(claims=[], missing=f"no run read condition {condition}")
    claim = next(found.claim for one in among if (found := check(one)))
    unseen = str(options.get("unseen", ""))
    claims = [
        _claim(f"{variant}, {level}", claim, [rows(one) or 0.0 for one in of], unseen)
        for variant, its in by_level(trials, among, by).items()
        for level, of in by_level(trials, its, factor).items()
    ]
    points = Points(trials, among)
    shown = points.table(
        f"Rows after a run for which it does not hold that {claim}",
        points.runs,
        {
            "runs": number_of_runs,
            "runs with such rows": lambda runs: str(sum(1 for one in runs if rows(one))),
            "rows, mean": lambda runs: or_nothing(mean_of(runs, rows), significant),
            "rows, most": lambda runs: significant(max(rows(one) or 0.0 for one in runs)),
        },
    )
    return Answered(claims=claims, shown=[shown])


def _claim(name: str, condition: str, rows: Sequence[float], unseen: str) -> Claim:
    broken = sum(1 for one in rows if one)
    runs = amount(len(rows), "run", "runs")
    if broken:
        return Claim(
            sentence=f"{name}: that {condition} did not hold after {broken} of {runs}, for up to "
            f"{amount(int(max(rows)), 'row', 'rows')}.",
            is_decided=True,
            effect=broken / len(rows),
            doubt="Rows that a later transaction mended are not counted.",
        )
    # The share of runs at which that none of so many is affected has a chance of 5 %.
    at_most = 1 - (1 - CONFIDENCE) ** (1 / len(rows))
    return Claim(
        sentence=f"{name}: that {condition} held after {'each of ' if rows[1:] else ''}{runs}.",
        is_decided=True,
        effect=0.0,
        high=at_most,
        doubt=f"Up to {percent(at_most)} of runs may break it all the same. {unseen}".strip(),
    )


ANSWER = Answer(
    id="let-through",
    title="What each level lets through",
    options={
        "factor": "the factor with a claim for each level",
        "by": "the factor of the variants, with claims of their own",
        "condition": "the ID of a condition of the workload's data",
        "unseen": "a sentence on what this condition cannot show",
        "at": "levels of other factors",
    },
    answer=answer,
)
