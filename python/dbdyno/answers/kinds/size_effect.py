"""What ten times the rows do to throughput and response times: a line on logarithms.

The line is ``analysis/volume.py``'s; its slope is the factor for each decade of rows. A table that
outgrows a cache falls off an edge that a line does not have: the points are drawn beside it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from dbdyno.analysis.ranged import Ranged
from dbdyno.analysis.volume import VolumeCurve, volume_curve
from dbdyno.answers.answer import Answer, Answered, Claim, CurveOf, CurveSeries, Trial, Trials
from dbdyno.answers.grouping import (
    Number,
    by_level,
    chosen,
    over_runs,
    p95_ms,
    throughput,
    times_of,
    title_of,
)
from dbdyno.answers.growing import measured, rows_words
from dbdyno.answers.measuring import series_over
from dbdyno.words import percent, tps

SAME = 0.03
"""A change of a decade that matters to nobody."""


def answer(trials: Trials, options: Mapping[str, Any]) -> Answered:
    """The verdict over all kinds of load, and a picture of each number."""
    over = str(options["over"])
    sides = by_level(trials, chosen(trials, options.get("at")), str(options["by"]))
    curves = {
        label: curve
        for label, among in sides.items()
        if (curve := _curve(among, over, throughput)) is not None
    }
    if not curves:
        return Answered(claims=[], missing="no load ran on tables of two sizes")
    claims = [_claim(label, curve, sides[label], over) for label, curve in curves.items()]
    return Answered(
        claims=[_verdict(claims), *claims],
        shown=[
            _picture(sides, over, title_of(trials, over), throughput, "Throughput, TPS"),
            _picture(sides, over, title_of(trials, over), p95_ms, "95th percentile, ms"),
        ],
    )


def _curve(among: Sequence[Trial], over: str, number: Number) -> VolumeCurve | None:
    points = measured(among, over, number)
    return volume_curve(points) if points else None


def _claim(label: str, curve: VolumeCurve, among: Sequence[Trial], over: str) -> Claim:
    decade = curve.per_decade
    least, most = (
        over_runs([t for t in among if float(t.point[over]) == rows], throughput)
        for rows in (curve.rows_min, curve.rows_max)
    )
    ends = f", {tps(least.value)} to {tps(most.value)} TPS" if least and most else ""
    return Claim(
        sentence=f"{label}: {_change_words(decade)}: {times_of(decade)} from "
        f"{rows_words(curve.rows_min)} to {rows_words(curve.rows_max)} rows{ends}.",
        told=_is_told(decade),
        effect=decade.value,
        low=decade.low,
        high=decade.high,
        doubt=_doubt_words(curve, decade),
        evidence={"measurements": curve.measurements, "exponent": curve.exponent.value},
    )


def _doubt_words(curve: VolumeCurve, decade: Ranged) -> str:
    more = [] if _is_told(decade) else ["more repeats or sizes farther apart would narrow it"]
    return "; ".join([*more, *curve.doubts])


def _is_told(decade: Ranged) -> bool:
    """Whether it changes, or is known to stay the same."""
    if decade.low is None or decade.high is None:
        return False
    return not decade.low <= 1 <= decade.high or _is_same(decade)


def _is_same(decade: Ranged) -> bool:
    return bool(decade.low and decade.high) and all(
        abs(bound - 1) < SAME for bound in (decade.low or 0, decade.high or 0)
    )


def _change_words(decade: Ranged) -> str:
    if _is_same(decade):
        return f"throughput stays within ±{percent(SAME)} with each tenfold of the rows"
    if not _is_told(decade):
        return "whether each tenfold of the rows changes throughput cannot be told"
    way = "rises" if decade.value > 1 else "falls"
    return f"throughput {way} by {percent(abs(decade.value - 1))} with each tenfold of the rows"


def _verdict(claims: Sequence[Claim]) -> Claim:
    doubts = dict.fromkeys(claim.doubt for claim in claims if claim.doubt)
    return Claim(
        sentence=" ".join(claim.sentence for claim in claims),
        told=any(claim.told for claim in claims),
        doubt="; ".join(doubts),
    )


def _picture(
    sides: Mapping[str, Sequence[Trial]], over: str, x_title: str, number: Number, title: str
) -> CurveOf:
    points = [series_over(label, among, over, number) for label, among in sides.items()]
    fitted = [
        _line(label, curve)
        for label, among in sides.items()
        if (curve := _curve(among, over, number)) is not None
    ]
    told = (f"{one.label} from {min(one.y):.3g} to {max(one.y):.3g}" for one in points if one.y)
    return CurveOf(
        title=f"{title.split(',', maxsplit=1)[0]} against {x_title}",
        summary=f"{'; '.join(told)}.",
        x_title=x_title,
        y_title=title,
        series=[*points, *fitted],
        x_axis="log",
    )


def _line(label: str, curve: VolumeCurve) -> CurveSeries:
    ends = (curve.rows_min, curve.rows_max)
    means = [curve.mean_at(rows) for rows in ends]
    return CurveSeries(
        label=f"{label}, fitted",
        x=ends,
        y=[mean.value for mean in means],
        low=[mean.low for mean in means],
        high=[mean.high for mean in means],
        fitted=True,
    )


ANSWER = Answer(
    id="size-effect",
    title="What ten times the rows do",
    options={
        "over": "the factor of rows",
        "by": "the factor of the kinds of load, each with a line of its own",
        "at": "levels of other factors",
    },
    answer=answer,
)
