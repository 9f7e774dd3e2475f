"""``--fail-if``: which verdicts make a command fail, and whether one of them was reached.

A gate applies to significant changes: a metric that *cannot tell* does not fail it, and is named.
The verdicts come from ``analysis/compare/compare.py``; no statistics are computed here.
"""

from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct, field

from dbdyno.model.comparison import Comparison, MetricComparison
from dbdyno.report import render_junit
from dbdyno.report.render_junit import Case

Outcome: TypeAlias = Literal["kept", "broken", "cannot tell"]
_IN_JUNIT: dict[Outcome, render_junit.Outcome] = {
    "kept": "passed",
    "broken": "failed",
    "cannot tell": "skipped",
}


class Gate(Struct, frozen=True, kw_only=True):
    """Fails if a metric is worse by more than ``share``. ``metric`` is an id, empty for any."""

    metric: str = ""
    share: float

    @property
    def sentence(self) -> str:
        """The gate as it is written on the command line."""
        return f"{self.metric}:worse:{self.share * 100:g}%".removeprefix(":")

    def without_metric(self) -> "GateResult":
        """Return the result if the runs of one side lack its metric."""
        sentence = (
            f"--fail-if {self.sentence} does not fail: {self.metric} was not measured in runs of "
            "both variants."
        )
        return GateResult(
            gate=self.sentence, metric=self.metric, outcome="cannot tell", sentence=sentence
        )

    def applied_to(self, metric: MetricComparison) -> "GateResult":
        """Whether the metric breaks it."""
        option = f"--fail-if {self.sentence}"
        outcome: Outcome = "kept"
        sentence = f"{option} holds for {metric.title}."
        if metric.verdict == "cannot tell":
            outcome = "cannot tell"
            sentence = f"{option} does not fail: these runs leave {metric.title} undecided."
        elif metric.verdict == "worse" and worsening(metric) > self.share:
            outcome, sentence = "broken", f"{option} fails: {metric.sentence}"
        return GateResult(gate=self.sentence, metric=metric.id, outcome=outcome, sentence=sentence)


class GateResult(Struct, frozen=True, kw_only=True):
    """The outcome of a gate for one metric, also as a sentence."""

    gate: str
    metric: str
    outcome: Outcome
    sentence: str = field(name="words")

    @property
    def case(self) -> Case:
        """The outcome as a test case."""
        message = "" if self.outcome == "kept" else self.sentence
        name = f"{self.metric}:{self.gate.removeprefix(f'{self.metric}:')}"
        return Case(name=name, outcome=_IN_JUNIT[self.outcome], message=message)


def apply_gates(comparison: Comparison, gates: Iterable[Gate]) -> list[GateResult]:
    """Apply every gate to every metric that it is about."""
    results = []
    for gate in gates:
        about = [one for one in comparison.metrics if gate.metric in ("", one.id)]
        results += [gate.applied_to(metric) for metric in about]
        if gate.metric and not about:
            results.append(gate.without_metric())
    return results


def is_broken(results: Sequence[GateResult]) -> bool:
    """Whether the command fails."""
    return any(one.outcome == "broken" for one in results)


def worsening(metric: MetricComparison) -> float:
    """Share by which the metric got worse; negative if it got better."""
    return 1 - metric.ratio if metric.better == "higher" else metric.ratio - 1
