"""Any metric of a run by its id, and curves of it over a factor whose levels are numbers."""

from collections.abc import Mapping, Sequence

from dbdyno.analysis.compare.metrics import metrics_of
from dbdyno.answers.answer import CurveSeries, Trial
from dbdyno.answers.grouping import Interval, Number, is_useless, over_runs


def metric_of(name: str) -> Number:
    """A function that returns the metric of a run; None if it was not measured."""

    def number(trial: Trial) -> float | None:
        found = metrics_of(trial.record).get(name)
        return found.value if found else None

    return number


def metric_title(among: Sequence[Trial], name: str) -> str:
    """The title of a metric, with its unit."""
    for trial in among:
        found = metrics_of(trial.record).get(name)
        if found:
            return f"{found.title}, {found.unit}" if found.unit else found.title
    return name


def series_over(label: str, among: Sequence[Trial], factor: str, number: Number) -> CurveSeries:
    """Means over runs at each level, with their intervals between runs."""
    levels = sorted({float(trial.point[factor]) for trial in among})
    at = {
        level: over_runs([t for t in among if float(t.point[factor]) == level], number)
        for level in levels
    }
    known = {level: mean for level, mean in at.items() if mean is not None}
    return curve_through(label, known)


def curve_through(
    label: str, at: Mapping[float, Interval], *, is_fitted: bool = False
) -> CurveSeries:
    """A line through numbers with their intervals; a useless one would set the axis by itself."""
    useful = [None if is_useless(number) else number for number in at.values()]
    return CurveSeries(
        label=label,
        x=list(at),
        y=[number.value for number in at.values()],
        low=[number.low if number else None for number in useful],
        high=[number.high if number else None for number in useful],
        fitted=is_fitted,
    )
