"""Curve: a metric over a factor whose levels are numbers, with a line for each level of another.

Points are geometric means over runs; their intervals are between runs, with one value per block.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from dbdyno.answers.answer import Answer, Answered, CurveOf, CurveSeries, Trial, Trials
from dbdyno.answers.curves import series_over
from dbdyno.answers.grouping import by_level, chosen, title_of
from dbdyno.answers.measuring import metric_of, metric_title
from dbdyno.formatting import significant

_WIDE = 20.0
"""Levels (or values) that span more than this factor are drawn on a log axis."""


def answer(trials: Trials, options: Mapping[str, Any]) -> Answered:
    """One chart for each metric."""
    over = str(options["over"])
    among = chosen(trials, options.get("at"))
    if not any(one.name == over and one.numbers for one in trials.spec.factors):
        return Answered(claims=[], missing=f"the levels of the factor {over} are not numbers")
    by = options.get("by")
    lines = by_level(trials, among, by) if by else {"all": among}
    names: Sequence[str] = options.get("metrics", trials.spec.metrics)
    pictures = [_picture(trials, lines, over, name) for name in names]
    shown = [picture for picture in pictures if picture is not None]
    missing = "" if shown else "no run has the requested metrics"
    return Answered(claims=[], shown=shown, missing=missing)


def _picture(
    trials: Trials, lines: Mapping[str, Sequence[Trial]], over: str, name: str
) -> CurveOf | None:
    drawn = [series_over(label, of, over, metric_of(name)) for label, of in lines.items()]
    series = [one for one in drawn if one.x]
    if not series:
        return None
    title = metric_title([trial for of in lines.values() for trial in of], name)
    return CurveOf(
        title=f"{title} over {title_of(trials, over)}",
        summary=" ".join(_series_text(one, over) for one in series),
        x_title=title_of(trials, over),
        y_title=title,
        series=series,
        x_axis="log" if _spread(x for one in series for x in one.x) > _WIDE else "linear",
        y_axis="log" if _spread(y for one in series for y in one.y) > _WIDE else "linear",
    )


def _series_text(series: CurveSeries, over: str) -> str:
    """The ends and the maximum of a line, or its only point."""
    first = f"{series.label}: {significant(series.y[0])} at {over} {significant(series.x[0])}"
    if len(series.x) == 1:
        return f"{first}."
    top = max(zip(series.y, series.x, strict=True))
    return (
        f"{first}, {significant(series.y[-1])} at {significant(series.x[-1])}, highest "
        f"{significant(top[0])} at {significant(top[1])}."
    )


def _spread(values: Any) -> float:
    known = list(values)
    least = min(known)
    return max(known) / least if least > 0 else 1.0


ANSWER = Answer(
    id="curve",
    title="Curves",
    options={
        "over": "the factor on the x axis; its levels are numbers",
        "by": "a factor with a line for each level",
        "metrics": "ids of metrics, one chart each; default: those of the study",
        "at": "levels of factors to select runs; default: all runs",
    },
    answer=answer,
)
