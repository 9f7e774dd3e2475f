"""New orders a minute of each point, and what bounds them: pauses, locks, the CPU, or the log.

Terminals that pause are bounded by their pauses as long as transactions take hardly any of their
time. How much they take is known far better than NOPM itself: a paced run has few new orders, whose
number varies by chance. Without pauses, the bound is the most severe cause of the runs' findings.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from dbdyno.answers.answer import Answer, Answered, Claim, Trial, Trials
from dbdyno.answers.grouping import by_point, chosen
from dbdyno.answers.intervals import INTERVAL_NOTE, in_brackets, interval_text, is_useless
from dbdyno.answers.kinds.limits import causes
from dbdyno.answers.measuring import mean_of, metric_of, over_runs
from dbdyno.answers.tables import Points, number_of_runs, or_nothing
from dbdyno.formatting import NOTHING, count, percent, significant

PAUSED_MIN = 0.5
"""Terminals that pause for a larger share of their time are bounded by their pauses."""
NEW_ORDER = "new-order"

nopm = metric_of("nopm")


def answer(trials: Trials, options: Mapping[str, Any]) -> Answered:
    """A claim on the best point of paced and of unpaced runs, one on each paced point."""
    among = [trial for trial in chosen(trials, options.get("at")) if nopm(trial)]
    if not among:
        return Answered(claims=[], missing="no run counted new orders")
    points = Points(trials, among)
    paced = [runs for runs in points.runs.values() if _is_paced(runs)]
    unpaced = [runs for runs in points.runs.values() if not _is_paced(runs)]
    shown = points.table(
        "New orders a minute, and what bounds them",
        points.runs,
        {
            "runs": number_of_runs,
            "NOPM": lambda runs: interval_text(over_runs(runs, nopm), count),
            "efficiency": lambda runs: interval_text(over_runs(runs, _efficiency), percent),
            "paused": lambda runs: or_nothing(mean_of(runs, _paused_share), percent),
            "limits kept": _kept_text,
            "bound": _bound_text,
        },
        texts={"limits kept", "bound"},
        note="Efficiency is the share of what the pauses allow; paused, the share of terminals' "
        "time that they pause. Limits are those of the definition for the 90th percentiles of "
        f"response times. {INTERVAL_NOTE}",
    )
    return Answered(
        claims=[
            *(_best(points, unpaced) for _ in unpaced[:1]),
            *(_paced(points, runs) for runs in paced),
        ],
        shown=[shown],
    )


def _best(points: Points, unpaced: Sequence[Sequence[Trial]]) -> Claim:
    """The unpaced point with most new orders a minute, and what bounds it."""
    most = max(unpaced, key=lambda runs: mean_of(runs, nopm) or 0.0)
    mean = over_runs(most, nopm)
    assert mean is not None
    (point,) = by_point(most)
    bound = causes(most)
    return Claim(
        sentence=f"Without pauses most new orders are {count(mean.value)}"
        f"{in_brackets(mean, count)} a minute, at {points.label(point)}, "
        + (f"bounded by: {bound[0].text}." if bound else "and no run says what bounds them."),
        is_decided=bool(bound) and not is_useless(mean),
        effect=mean.value,
        low=mean.low,
        high=mean.high,
        doubt="The highest of several means is higher than that of other runs of its point would "
        "be. NOPM without pauses says nothing about how many warehouses a server can keep busy.",
    )


def _paced(points: Points, runs: Sequence[Trial]) -> Claim:
    """How close a paced point comes to what its pauses allow, and whether they bound it."""
    share, mean = over_runs(runs, _efficiency), over_runs(runs, nopm)
    assert share is not None
    assert mean is not None
    (point,) = by_point(runs)
    paused = mean_of(runs, _paused_share) or 0.0
    is_paused = paused > PAUSED_MIN
    of_runs = [script for trial in runs for script in trial.record.scripts]
    orders = sum(script.ok for script in of_runs if script.name == NEW_ORDER)
    return Claim(
        sentence=f"{points.label(point)}: {count(mean.value)}{in_brackets(mean, count)} new "
        f"orders a minute, {percent(share.value)}{in_brackets(share, percent)} of what pauses "
        f"allow; terminals pause {percent(paused)} of their time, so "
        + ("pauses bound it" if is_paused else f"the server does: {_bound_text(runs)}")
        + f". Response limits kept: {_kept_text(runs)}.",
        is_decided=True,
        effect=share.value,
        low=share.low,
        high=share.high,
        doubt=f"All runs together have {count(orders)} new orders, so chance alone moves their "
        f"number by {percent(1 / math.sqrt(max(orders, 1)))}.",
        evidence={"paused_share": paused, "new_orders": orders},
    )


def _is_paced(runs: Sequence[Trial]) -> bool:
    return any(trial.record.efficiency is not None for trial in runs)


def _efficiency(trial: Trial) -> float | None:
    return trial.record.efficiency


def _paused_share(trial: Trial) -> float | None:
    """The share of clients' time between transactions; None if they do not pause."""
    record = trial.record
    if record.efficiency is None or not record.response_ms or not record.duration_s:
        return None
    ended = record.transactions.ok if record.transactions else 0
    busy_s = ended * record.response_ms.mean / 1e3
    clients = trial.run.plan.clients
    return max(1 - busy_s / (clients * record.duration_s), 0.0)


def _kept_text(runs: Sequence[Trial]) -> str:
    """``all`` response limits, or which a run did not keep."""
    limits = [one for trial in runs for one in trial.record.audit if one.unit == "ms"]
    missed = dict.fromkeys(one.name for one in limits if one.ok is False)
    return f"not {', '.join(missed)}" if missed else "all" if limits else NOTHING


def _bound_text(runs: Sequence[Trial]) -> str:
    paused = mean_of(runs, _paused_share)
    if paused is not None and paused > PAUSED_MIN:
        return f"pauses ({significant(100 * paused)} % of time)"
    return next((one.text for one in causes(runs)), NOTHING)


ANSWER = Answer(
    id="nopm-bound",
    title="New orders a minute, and what bounds them",
    options={"at": "levels of factors to select runs; default: all runs"},
    answer=answer,
)
