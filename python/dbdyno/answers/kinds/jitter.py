"""Jitter: how much throughput varies from second to second, and which variant varies more.

The measure is the coefficient of variation of 1 s samples within each run
(``analysis/series/steadiness.py``); variants are compared by the mean ratio of each block. A short
run estimates its own variation poorly, which the interval over runs shows.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from dbdyno.analysis.series.steadiness import jitter
from dbdyno.answers.answer import Answer, Answered, Claim, Trial, Trials
from dbdyno.answers.grouping import by_level, chosen
from dbdyno.answers.intervals import INTERVAL_NOTE, interval_text, times_of
from dbdyno.answers.measuring import over_runs
from dbdyno.answers.tables import Points, number_of_runs
from dbdyno.answers.variant_pairs import VariantPair
from dbdyno.formatting import percent

DOUBT = (
    "All loads together; checkpoints and flushing that occur less often than once per run are not "
    "represented."
)


def answer(trials: Trials, options: Mapping[str, Any]) -> Answered:
    """One claim over all loads, because jitter does not belong to one of them."""
    among = [trial for trial in chosen(trials, options.get("at")) if _of(trial) is not None]
    if not among:
        return Answered(claims=[], missing="no run had three whole seconds")
    sides = list(by_level(trials, among, str(options["factor"])))
    claims = [_claim(among, str(options["factor"]), sides[0], sides[1])] if sides[1:] else []
    points = Points(trials, among)
    shown = points.table(
        "Jitter: coefficient of variation of 1 s samples",
        points.runs,
        {
            "runs": number_of_runs,
            "jitter": lambda runs: interval_text(over_runs(runs, _of), percent),
        },
        note=f"Geometric means over runs. {INTERVAL_NOTE}",
    )
    return Answered(claims=claims, shown=[shown])


def _of(trial: Trial) -> float | None:
    return jitter(trial.timeline)


def _claim(among: Sequence[Trial], factor: str, first: str, second: str) -> Claim:
    both = VariantPair("all loads", first, second, among, factor, over="")
    ratio = both.ratio(_of)
    if ratio is None:
        return Claim(sentence=f"{first} and {second} have no paired runs.", is_decided=False)
    ratio_text = f"{second}'s samples vary {times_of(ratio)} as much as {first}'s"
    return Claim(
        sentence=f"From second to second {ratio_text}."
        if ratio.is_significant
        else f"Which varies more from second to second is undecided: {ratio_text}.",
        is_decided=ratio.is_significant,
        effect=ratio.value,
        low=ratio.low,
        high=ratio.high,
        doubt=f"{both.left_out_text(_of)} {DOUBT}".lstrip(),
    )


ANSWER = Answer(
    id="jitter",
    title="Jitter from second to second",
    options={
        "factor": "the factor whose first two levels are compared",
        "at": "levels of other factors",
    },
    answer=answer,
)
