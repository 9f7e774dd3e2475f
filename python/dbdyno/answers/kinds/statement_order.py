"""Statement order: which order of the statements is best, predicted and then measured.

The prediction is made from the reference order's run with the most clients: each valid order's
bound is min over its rows of 1/Σ p·h. The measurement is the contrast of each measured order with
the reference, at equal numbers of clients. The answer gives both, and whether they agree.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from dbdyno.analysis.compare.metrics import THROUGHPUT
from dbdyno.analysis.compare.verdicts import change, changes
from dbdyno.analysis.search.bounds import EXCEEDED, UNBOUNDED
from dbdyno.answers.answer import Answer, Answered, Claim, TableOf, Trial, Trials
from dbdyno.answers.grouping import by_level, compared_with
from dbdyno.answers.measuring import over_runs, throughput
from dbdyno.answers.orders import Orders, Prediction, orders_of
from dbdyno.answers.tables import table
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


class _Orders(Struct, frozen=True):
    """The orders at one number of clients, predicted and measured."""

    factor: str
    reference: str
    """The order as written, from which the others are predicted."""
    clients: str
    """``20 clients``."""
    orders: Orders
    measured: Sequence[_Measured]

    @property
    def best_measured(self) -> Claim:
        """The highest mean; its verdict is against the reference, with which all were compared."""
        compared = [one for one in self.measured if one.against or one.level == self.reference]
        best = max(compared, key=lambda one: one.mean_tps)
        claimed = f"With {self.clients} the order {best.level} had the highest mean throughput"
        if best.against is not None:
            is_decided = best.against.verdict == "better"
            return _order_claim(claimed, best, best.against, is_decided=is_decided)
        others = [(one, one.against) for one in compared if one.against]
        nearest, against = max(others, key=lambda pair: pair[0].mean_tps)
        is_decided = all(metric.verdict == "worse" for _, metric in others)
        return _order_claim(claimed, nearest, against, is_decided=is_decided)

    @property
    def best_predicted(self) -> Claim:
        """The best of all valid orders; a measured one, if it is as good as any."""
        first = self.orders.predictions[0]
        best = first.bound
        written = next(one for one in self.measured if one.level == self.reference)
        own = written.prediction.bound.tps if written.prediction else None
        gain = f", {change(best.tps / own)} against it" if own else ""
        covered = [
            one.level
            for one in self.measured
            if one.prediction and abs(one.prediction.bound.tps / best.tps - 1) < _ALIKE
        ]
        name = covered[0] if covered else f"the order {self.orders.text_of(first.order)}"
        doubts = []
        if not covered:
            doubts.append(
                f"No measured order is within {percent(_ALIKE)} of that bound: add it as a level "
                f"of {self.factor}"
            )
        if written.exceeds_bound:
            doubts.append(
                f"The order as written reached {tps(written.mean_tps)} TPS, more than the "
                f"{tps(own)} that its rows should allow: they are released before clients "
                "receive the commit, or the runs are too short to time them; the prediction is "
                "rough"
            )
        return Claim(
            sentence=f"Predicted from the run as written with {self.clients}: of "
            f"{count(len(self.orders.predictions))} valid orders none is better than {name}, in "
            f"which rows of {best.table} allow about {tps(best.tps)} TPS{gain}",
            is_decided=not doubts,
            effect=best.tps / own if own else None,
            doubt=". ".join(doubts),
            evidence={"bound_tps": best.tps, "measured_as": covered},
        )

    def agreement(self) -> Iterator[Claim]:
        """Whether prediction and measurement rank the orders alike."""
        known = [one for one in self.measured if one.prediction]
        if len(known) < 2:
            return
        predicted = [one.level for one in sorted(known, key=lambda one: -one.predicted_tps)]
        found = [one.level for one in sorted(known, key=lambda one: -one.mean_tps)]
        agrees = predicted == found
        verb = "rank as predicted" if agrees else "do not rank as predicted"
        doubts = []
        if not agrees:
            doubts.append("The bound covers row locks only; CPU and WAL limit throughput too")
        exceeding = [
            f"{one.level} ({tps(one.mean_tps)} TPS, predicted at most {tps(one.predicted_tps)})"
            for one in self.measured
            if one.level != self.reference and one.exceeds_bound
        ]
        if exceeding:
            doubts.append(
                f"Only the ranks are comparable: in {' and '.join(exceeding)} rows are held for "
                "less time than the statements of the order as written take"
            )
        undecided = [
            one.level for one in self.measured if one.against and one.against.verdict not in CHANGED
        ]
        if undecided:
            names = " and ".join(undecided)
            doubts.append(f"These runs do not distinguish {names} from the order as written")
        yield Claim(
            sentence=f"By mean throughput with {self.clients} the orders {verb}: measured "
            f"{', '.join(found)}" + ("" if agrees else f"; predicted {', '.join(predicted)}"),
            is_decided=agrees and not undecided,
            doubt=". ".join(doubts),
            evidence={"measured": found, "predicted": predicted},
        )

    @property
    def table(self) -> TableOf:
        """A row for each measured order."""
        return table(
            f"Orders with {self.clients}",
            self.measured,
            {
                "order": lambda one: one.level,
                "statements": _predicted(lambda best: self.orders.text_of(best.order)),
                "limiting row": _predicted(lambda best: best.bound.table),
                "held for": _predicted(lambda best: milliseconds(best.bound.hold_s * 1e3)),
                "predicted bound": _predicted(lambda best: tps(best.bound.tps)),
                "rank": _predicted(lambda best: count(self.orders.rank(best))),
                "TPS": lambda one: tps(one.mean_tps),
                "change": lambda one: change(one.against.ratio) if one.against else NOTHING,
                "verdict": lambda one: one.against.verdict if one.against else NOTHING,
            },
            texts=("order", "statements", "limiting row", "verdict"),
            note="The bound is the throughput that the limiting row allows; its rank is among all "
            f"{count(len(self.orders.predictions))} valid orders. Equal bounds share a rank.",
        )


def _predicted(text: Callable[[Prediction], str]) -> Callable[[_Measured], str]:
    return lambda one: text(one.prediction) if one.prediction else NOTHING


def answer(trials: Trials, options: Mapping[str, Any]) -> Answered:
    """Evaluated at the largest number of clients at which more than one order was run."""
    factor, reference = str(options["factor"]), str(options["reference"])
    over = str(options.get("over", "clients"))
    levels: dict[str, set[str]] = {}
    for trial in trials.trials:
        levels.setdefault(trial.point[over], set()).add(trial.point[factor])
    several = [level for level, names in levels.items() if reference in names and len(names) > 1]
    if not several:
        return Answered(claims=[], missing=f"no two levels of {factor} at equal {over}")
    clients = max(several, key=float)
    among = [trial for trial in trials.trials if trial.point.get(over) == clients]
    orders = orders_of(next(trial for trial in among if trial.point[factor] == reference))
    if orders is None:
        return Answered(claims=[], missing="the statements cannot be reordered")
    against = compared_with(among, factor, reference, THROUGHPUT)
    if not against:
        return Answered(claims=[], missing=f"no block has {reference} and another order")
    measured = []
    for level, runs in by_level(trials, among, factor).items():
        script = max(runs[0].run.plan.scripts, key=lambda script: script.weight)
        prediction = orders.of_script(script.text)
        measured.append(_Measured(level, runs, prediction, against.get(level)))
    found = _Orders(factor, reference, f"{clients} {over}", orders, measured)
    return Answered(
        claims=[found.best_measured, found.best_predicted, *found.agreement()],
        shown=[found.table],
    )


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
