"""Statement order: which order of the statements is best, predicted and then measured.

The prediction is made from the reference order's run with the most clients: each valid order's
bound is min over its rows of 1/Σ p·h. The measurement is the contrast of each measured order with
the reference, at equal numbers of clients. The answer gives both, and whether they agree.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from dbdyno.analysis.compare.metrics import THROUGHPUT
from dbdyno.analysis.compare.verdicts import change, changes
from dbdyno.analysis.search.bounds import EXCEEDED, UNBOUNDED
from dbdyno.answers.answer import Answer, Answered, Claim, TableOf, Trial, Trials
from dbdyno.answers.grouping import by_level, compared_with, over_runs, throughput
from dbdyno.answers.orders import Orders, Prediction, orders_of
from dbdyno.formatting import NOTHING, count, milliseconds, percent, tps
from dbdyno.model.comparison import CHANGED, MetricComparison

_ALIKE = 0.02
"""Bounds that differ by less count as equal: the times behind them are not exact."""


class _Measured(Struct, frozen=True):
    """One order at the examined number of clients."""

    level: str
    runs: Sequence[Trial]
    prediction: Prediction | None
    against: MetricComparison | None
    """Its throughput against the reference; None for the reference."""

    @property
    def mean_tps(self) -> float:
        found = over_runs(self.runs, throughput)
        return found.value if found else 0.0

    @property
    def predicted_tps(self) -> float:
        return self.prediction.bound.tps if self.prediction else UNBOUNDED

    @property
    def exceeds_bound(self) -> bool:
        """Whether it is faster than its rows should allow."""
        return self.mean_tps > self.predicted_tps * EXCEEDED


class _Options(Struct, frozen=True):
    """The options of the study's file."""

    factor: str
    reference: str
    over: str


def answer(trials: Trials, options: Mapping[str, Any]) -> Answered:
    """Evaluated at the largest number of clients at which more than one order was run."""
    parsed = _Options(
        str(options["factor"]), str(options["reference"]), str(options.get("over", "clients"))
    )
    clients = _most_clients(trials, parsed)
    if clients is None:
        return Answered(
            claims=[], missing=f"no two levels of {parsed.factor} at equal {parsed.over}"
        )
    among = [trial for trial in trials.trials if trial.point.get(parsed.over) == clients]
    reference = [trial for trial in among if trial.point[parsed.factor] == parsed.reference]
    orders = orders_of(reference[0])
    if orders is None:
        return Answered(claims=[], missing="the statements cannot be reordered")
    measured = _measured(trials, among, parsed, orders)
    if not any(one.against for one in measured):
        return Answered(claims=[], missing=f"no block has {parsed.reference} and another order")
    return Answered(
        claims=[
            _best_measured(measured, clients, parsed),
            _predicted(orders, measured, clients, parsed),
            *_agreement(measured, clients, parsed),
        ],
        shown=[_table(orders, measured, clients, parsed)],
    )


def _most_clients(trials: Trials, options: _Options) -> str | None:
    """The most clients with which the reference and another order were both run."""
    levels: dict[str, set[str]] = {}
    for trial in trials.trials:
        levels.setdefault(trial.point[options.over], set()).add(trial.point[options.factor])
    both = [
        level for level, orders in levels.items() if options.reference in orders and len(orders) > 1
    ]
    return max(both, key=float, default=None)


def _measured(
    trials: Trials, among: Sequence[Trial], options: _Options, orders: Orders
) -> list[_Measured]:
    against = compared_with(among, options.factor, options.reference, THROUGHPUT)
    return [
        _Measured(level, runs, orders.of_script(_script_text(runs[0])), against.get(level))
        for level, runs in by_level(trials, among, options.factor).items()
    ]


def _script_text(trial: Trial) -> str:
    """The text of the script that ran."""
    scripts = trial.run.plan.scripts
    return max(scripts, key=lambda script: script.weight).text


def _best_measured(measured: Sequence[_Measured], clients: str, options: _Options) -> Claim:
    """The highest mean; its verdict is against the reference, with which all were compared."""
    compared = [one for one in measured if one.against or one.level == options.reference]
    best = max(compared, key=lambda one: one.mean_tps)
    claimed = (
        f"With {clients} {options.over} the order {best.level} had the highest mean throughput"
    )
    if best.against is not None:
        return _order_claim(
            claimed, best, best.against, is_decided=best.against.verdict == "better"
        )
    others = [(one, one.against) for one in compared if one.against]
    nearest, against = max(others, key=lambda pair: pair[0].mean_tps)
    is_decided = all(metric.verdict == "worse" for _, metric in others)
    return _order_claim(claimed, nearest, against, is_decided=is_decided)


def _order_claim(
    claimed: str, of: _Measured, metric: MetricComparison, *, is_decided: bool
) -> Claim:
    runs = f"{metric.pairs} pair{'s' if metric.pairs > 1 else ''} of runs"
    interval = runs
    if metric.low is not None and metric.high is not None:
        interval = f"{changes(metric.low, metric.high)} at 95 %, {runs}"
    return Claim(
        sentence=f"{claimed} ({of.level}: {change(metric.ratio)} TPS against the order as written; "
        f"{interval})",
        is_decided=is_decided,
        effect=metric.ratio,
        low=metric.low,
        high=metric.high,
        doubt="" if is_decided else metric.sentence,
        evidence={"order": of.level, "verdict": metric.verdict},
    )


def _predicted(
    orders: Orders, measured: Sequence[_Measured], clients: str, options: _Options
) -> Claim:
    """The best of all valid orders; a measured one, if it is as good as any."""
    best = orders.predictions[0]
    own = next(one.prediction for one in measured if one.level == options.reference)
    gain = f", {change(best.bound.tps / own.bound.tps)} against it" if own else ""
    covered = [one.level for one in measured if one.prediction and _is_alike(one.prediction, best)]
    name = covered[0] if covered else f"the order {orders.text_of(best.order)}"
    own_tps = next(one.mean_tps for one in measured if one.level == options.reference)
    return Claim(
        sentence=f"Predicted from the run as written with {clients} {options.over}: of "
        f"{count(len(orders.predictions))} valid orders none is better than {name}, in which rows "
        f"of {best.bound.table} allow about {tps(best.bound.tps)} TPS{gain}",
        is_decided=bool(covered) and not (own and own_tps > own.bound.tps * EXCEEDED),
        effect=best.bound.tps / own.bound.tps if own else None,
        doubt=". ".join(_prediction_doubts(covered, own, own_tps, options)),
        evidence={"bound_tps": best.bound.tps, "measured_as": covered},
    )


def _prediction_doubts(
    covered: Sequence[str], own: Prediction | None, own_tps: float, options: _Options
) -> Iterator[str]:
    if not covered:
        yield (
            f"No measured order is within {percent(_ALIKE)} of that bound: add it as a level of "
            f"{options.factor}"
        )
    if own and own_tps > own.bound.tps * EXCEEDED:
        yield (
            f"The order as written reached {tps(own_tps)} TPS, more than the "
            f"{tps(own.bound.tps)} that its rows should allow: they are released before clients "
            "receive the commit, or the runs are too short to time them; the prediction is rough"
        )


def _is_alike(one: Prediction, other: Prediction) -> bool:
    return abs(one.bound.tps / other.bound.tps - 1) < _ALIKE


def _agreement(measured: Sequence[_Measured], clients: str, options: _Options) -> Iterator[Claim]:
    """Whether prediction and measurement rank the orders alike."""
    known = [(one.prediction.bound.tps, one) for one in measured if one.prediction]
    if len(known) < 2:
        return
    predicted = [one.level for _, one in sorted(known, key=lambda pair: -pair[0])]
    found = [one.level for _, one in sorted(known, key=lambda pair: -pair[1].mean_tps)]
    agrees = predicted == found
    verb = "rank as predicted" if agrees else "do not rank as predicted"
    yield Claim(
        sentence=f"By mean throughput with {clients} {options.over} the orders {verb}: measured "
        f"{', '.join(found)}" + ("" if agrees else f"; predicted {', '.join(predicted)}"),
        is_decided=agrees and not _undecided(measured),
        doubt=". ".join(_agreement_doubts(measured, options, agrees=agrees)),
        evidence={"measured": found, "predicted": predicted},
    )


def _undecided(measured: Sequence[_Measured]) -> list[str]:
    """Orders whose difference from the reference the runs do not decide."""
    return [one.level for one in measured if one.against and one.against.verdict not in CHANGED]


def _agreement_doubts(
    measured: Sequence[_Measured], options: _Options, *, agrees: bool
) -> Iterator[str]:
    if not agrees:
        yield "The bound covers row locks only; CPU and WAL limit throughput too"
    exceeding = [one for one in measured if one.level != options.reference and one.exceeds_bound]
    if exceeding:
        text = " and ".join(
            f"{one.level} ({tps(one.mean_tps)} TPS, predicted at most {tps(one.predicted_tps)})"
            for one in exceeding
        )
        yield (
            f"Only the ranks are comparable: in {text} rows are held for less time than the "
            "statements of the order as written take"
        )
    undecided = _undecided(measured)
    if undecided:
        yield f"These runs do not distinguish {' and '.join(undecided)} from the order as written"


def _table(
    orders: Orders, measured: Sequence[_Measured], clients: str, options: _Options
) -> TableOf:
    return TableOf(
        title=f"Orders with {clients} {options.over}",
        columns=(
            "order",
            "statements",
            "limiting row",
            "held for",
            "predicted bound",
            "rank",
            "TPS",
            "change",
            "verdict",
        ),
        rows=[_row(orders, one) for one in measured],
        numeric=frozenset({3, 4, 5, 6, 7}),
        note="The bound is the throughput that the limiting row allows; its rank is among all "
        f"{count(len(orders.predictions))} valid orders. Equal bounds share a rank.",
    )


def _row(orders: Orders, of: _Measured) -> tuple[str, ...]:
    predicted = of.prediction
    verdict = (of.against.verdict, change(of.against.ratio)) if of.against else (NOTHING, NOTHING)
    if predicted is None:
        return (
            of.level,
            NOTHING,
            NOTHING,
            NOTHING,
            NOTHING,
            NOTHING,
            tps(of.mean_tps),
            verdict[1],
            verdict[0],
        )
    return (
        of.level,
        orders.text_of(predicted.order),
        predicted.bound.table,
        milliseconds(predicted.bound.hold_s * 1e3),
        tps(predicted.bound.tps),
        count(_rank(orders, predicted)),
        tps(of.mean_tps),
        verdict[1],
        verdict[0],
    )


def _rank(orders: Orders, predicted: Prediction) -> int:
    better = [one for one in orders.predictions if one.bound.tps > predicted.bound.tps * 1.000001]
    return 1 + len(better)


ANSWER = Answer(
    id="statement-order",
    title="The best statement order, predicted and measured",
    options={
        "factor": "the factor whose levels are orders of the same statements",
        "reference": "the level from which the others are predicted",
        "over": "the factor that counts the clients (clients)",
    },
    answer=answer,
)
