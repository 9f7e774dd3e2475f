"""Tries that the server refused for the sake of isolation, by transaction.

Serialization failures, deadlocks and expired lock waits, per thousand transactions that ran to
their end. A transaction may be refused several times until it succeeds, so there is no upper limit.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from dbdyno.analysis.statistics.estimate import Ratio
from dbdyno.answers.answer import Answer, Answered, Claim, Trial, Trials
from dbdyno.answers.grouping import by_level, by_point, chosen, title_of
from dbdyno.answers.intervals import INTERVAL_NOTE, in_brackets, interval_text
from dbdyno.answers.measuring import mean_of, over_runs
from dbdyno.answers.tables import Points, number_of_runs
from dbdyno.formatting import NOTHING, count, percent, significant

REFUSALS = {
    "serialization": "serialization failures",
    "deadlock": "deadlocks",
    "lock_timeout": "expired lock waits",
}
"""Classes of failures, and their names in a sentence."""
NAMED_MAX = 3
"""A sentence names so many transactions."""


def answer(trials: Trials, options: Mapping[str, Any]) -> Answered:
    """A claim for each variant and level, a row for each point."""
    factor, by, over = (str(options[name]) for name in ("factor", "by", "over"))
    among = [one for one in chosen(trials, options.get("at")) if _ended(one)]
    if not among:
        return Answered(claims=[], missing="no run ended a transaction")
    claims = [
        _claim(f"{variant}, {level}", of, over, title_of(trials, over))
        for variant, its in by_level(trials, among, by).items()
        for level, of in by_level(trials, its, factor).items()
    ]
    points = Points(trials, among)
    shown = points.table(
        "Refused tries per 1000 transactions",
        points.runs,
        {
            "runs": number_of_runs,
            "refused": lambda runs: interval_text(_refused(runs)),
            "as": lambda runs: _shares_text(_by_class(runs)),
            "of": lambda runs: _shares_text(_by_script(runs)),
        },
        texts={"as", "of"},
        note="Geometric means over runs; arithmetic ones, without an interval, where a run had "
        f"none. {INTERVAL_NOTE}",
    )
    return Answered(claims=claims, shown=[shown])


def _claim(name: str, among: Sequence[Trial], over: str, title: str) -> Claim:
    """About the point with most refusals."""
    most = max(by_point(among).values(), key=lambda runs: _refused(runs).value)
    mean = _refused(most)
    if not mean.value:
        ended = count(sum(map(_ended, among)))
        return Claim(
            sentence=f"{name}: none of {ended} transactions was refused.",
            is_decided=True,
            effect=0.0,
        )
    return Claim(
        sentence=f"{name}: most are refused with {title} {most[0].point[over]}, "
        f"{significant(mean.value)} tries per 1000 transactions{in_brackets(mean)}: "
        f"{_shares_text(_by_class(most))}, of {_shares_text(_by_script(most))}.",
        is_decided=True,
        effect=mean.value,
        low=mean.low,
        high=mean.high,
        evidence={"by_class": dict(_by_class(most)), "by_script": dict(_by_script(most))},
    )


def _ended(trial: Trial) -> int:
    return trial.record.transactions.ok if trial.record.transactions else 0


def _by_class(among: Sequence[Trial]) -> Counter[str]:
    """Refused tries by the name of their class, those that were tried again and the last ones."""
    found: Counter[str] = Counter()
    for trial in among:
        for one in (*trial.record.tried_again, *trial.record.failures):
            if one.failure_class in REFUSALS:
                found[REFUSALS[one.failure_class]] += one.count
    return found


def _by_script(among: Sequence[Trial]) -> Counter[str]:
    found: Counter[str] = Counter()
    for trial in among:
        for one in (*trial.record.tried_again, *trial.record.failures):
            if one.failure_class in REFUSALS:
                found.update(one.by_script)
    return found


def _per_thousand(trial: Trial) -> float:
    return 1000 * _by_class([trial]).total() / _ended(trial)


def _refused(among: Sequence[Trial]) -> Ratio:
    """Per thousand, over runs: a geometric mean, or an arithmetic one if a run had none."""
    whole = over_runs(among, _per_thousand) if all(map(_per_thousand, among)) else None
    return whole or Ratio(mean_of(among, _per_thousand) or 0.0, None, None)


def _shares_text(counts: Counter[str]) -> str:
    """``write-check 62 %, balance 20 %``: the most frequent first."""
    named = counts.most_common(NAMED_MAX)
    shares = [f"{name} {percent(number / counts.total())}" for name, number in named if number]
    return ", ".join(shares) or NOTHING


ANSWER = Answer(
    id="refusals",
    title="Which transactions were refused, and tried again",
    options={
        "factor": "the factor with a claim for each level",
        "by": "the factor of the variants, with claims of their own",
        "over": "the factor whose level with most refusals a claim names",
        "at": "levels of other factors",
    },
    answer=answer,
)
