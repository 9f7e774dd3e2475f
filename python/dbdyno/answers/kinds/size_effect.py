"""What ten times the rows do to throughput and response times: a line on logarithms.

The line is ``analysis/volume.py``'s; its slope is the factor for each decade of rows. A table that
outgrows a cache falls off an edge that a line does not have: the points are drawn beside it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from dbdyno.analysis.ranged import Ranged
from dbdyno.analysis.verdicts import change
from dbdyno.analysis.volume import VolumeCurve, volume_curve
from dbdyno.answers.answer import Answer, Answered, Claim, CurveOf, CurveSeries, Trial, Trials
from dbdyno.answers.grouping import (
    Number,
    by_level,
    chosen,
    compared,
    over_runs,
    p95_ms,
    pairs,
    throughput,
    title_of,
)
from dbdyno.answers.growing import measured, rows_of, rows_words
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
    return Answered(
        claims=[_verdict([_Effect(label, sides[label], of, over) for label, of in curves.items()])],
        shown=[
            _picture(sides, over, title_of(trials, over), throughput, "Throughput, TPS"),
            _picture(sides, over, title_of(trials, over), p95_ms, "95th percentile, ms"),
        ],
    )


def _curve(among: Sequence[Trial], over: str, number: Number) -> VolumeCurve | None:
    points = measured(among, over, number)
    return volume_curve(points) if points else None


class _Effect(Struct, frozen=True):
    """What the rows do to one kind of load."""

    label: str
    among: Sequence[Trial]
    curve: VolumeCurve
    over: str

    @property
    def decade(self) -> Ranged:
        """The factor by which a tenfold of the rows changes throughput."""
        return self.curve.per_decade

    @property
    def is_same(self) -> bool:
        """Whether a change that matters is ruled out."""
        low, high = self.decade.low, self.decade.high
        return low is not None and high is not None and max(1 - low, high - 1) < SAME

    @property
    def is_told(self) -> bool:
        """Whether it changes, or is known to stay the same."""
        low, high = self.decade.low, self.decade.high
        if low is None or high is None:
            return False
        return self.is_same or not low <= 1 <= high

    @property
    def words(self) -> str:
        """The sentence about it."""
        return f"{self.label}: {self._change()}, from {self._ends()}."

    def _change(self) -> str:
        low, high = self.decade.low, self.decade.high
        interval = f" (95 %: {change(low)} to {change(high)})" if low and high else ""
        each = "with each tenfold of the rows"
        if self.is_same:
            return f"throughput stays within ±{percent(SAME)} {each}{interval}"
        told = f"throughput {change(self.decade.value)} {each}{interval}"
        return told if self.is_told else f"{told}, which cannot be told from none"

    def _ends(self) -> str:
        ends = (self.curve.rows_min, self.curve.rows_max)
        means = [over_runs(self._at(rows), throughput) for rows in ends]
        rates = " to ".join(tps(mean.value if mean else None) for mean in means)
        return f"{rows_words(ends[0])} to {rows_words(ends[1])} rows {rates} TPS"

    def _at(self, rows: float) -> list[Trial]:
        return [trial for trial in self.among if rows_of(trial, self.over) == rows]

    def between_ends(self) -> str:
        """The smallest against the largest size, with what it would take to tell them apart."""
        extremes = (self.curve.rows_min, self.curve.rows_max)
        least, most = (self._at(rows)[0].point[self.over] for rows in extremes)
        both = pairs(self.among, self.over, least, most)
        found = compared(both, ("throughput_tps",)) if both else {}
        told = found["throughput_tps"].words if found else "no block has both."
        return f"{self.label} between the ends: {told}"


def _verdict(effects: Sequence[_Effect]) -> Claim:
    """All kinds of load in one; its numbers are those of the first."""
    first = effects[0].decade
    untold = [one.between_ends() for one in effects if not one.is_told]
    doubts = dict.fromkeys(doubt for one in effects for doubt in one.curve.doubts)
    return Claim(
        sentence=" ".join(one.words for one in effects),
        told=any(one.is_told for one in effects),
        effect=first.value,
        low=first.low,
        high=first.high,
        doubt=" ".join([*untold, *(f"{doubt}." for doubt in doubts)]),
        evidence={
            one.label: {
                "per_tenfold": one.decade.value,
                "low": one.decade.low,
                "high": one.decade.high,
                "told": one.is_told,
            }
            for one in effects
        },
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
