"""Lines of an answer's charts: means over runs, over a factor whose levels are numbers."""

from collections.abc import Callable, Mapping, Sequence

from dbdyno.answers.answer import CurveSeries, Trial
from dbdyno.answers.intervals import Interval, is_useless
from dbdyno.answers.measuring import Number, over_runs


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


def extent_text(series: CurveSeries, format_value: Callable[[float], str]) -> str:
    """``as written from 812 TPS to 1 900 TPS``: the lowest and the highest number of a line."""
    return f"{series.label} from {format_value(min(series.y))} to {format_value(max(series.y))}"
