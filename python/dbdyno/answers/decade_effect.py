"""The effect of ten times the rows on one number under one load: factor, interval and text.

The line through the sizes comes from ``analysis/growth/volume.py``. If it does not show a
significant change, the smallest size is compared with the largest, which gives the repeats needed
to detect one.
"""

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from dbdyno.analysis.compare.verdicts import ALPHA, change, changes
from dbdyno.analysis.growth.volume import VolumeCurve, per_decade, volume_curve
from dbdyno.analysis.statistics.effect import holm
from dbdyno.analysis.statistics.estimate import IntervalEstimate
from dbdyno.answers.answer import CurveSeries, Trial
from dbdyno.answers.curves import curve_through
from dbdyno.answers.grouping import compared, pairs
from dbdyno.answers.measuring import metric_of, over_runs
from dbdyno.answers.table_size import rows_of, rows_text
from dbdyno.formatting import NOTHING, percent, significant

SAME = 0.03
"""A smaller change per decade does not matter."""


class Measure(Struct, frozen=True):
    """A metric by its id, its name in a sentence, and a function that formats its values."""

    metric: str
    noun: str
    unit: str
    format_value: Callable[[float], str]


class DecadeEffect(Struct, frozen=True):
    """One kind of load on tables of several sizes."""

    label: str
    among: Sequence[Trial]
    over: str
    measure: Measure
    curve: VolumeCurve
    factor: IntervalEstimate
    """Factor by which ten times the rows changes the number."""
    p: float | None
    """That of no change, adjusted for all kinds of load that are judged together."""

    @property
    def is_same(self) -> bool:
        """Whether a change that matters is ruled out."""
        low, high = self.factor.low, self.factor.high
        return low is not None and high is not None and max(1 - low, high - 1) < SAME

    @property
    def is_decided(self) -> bool:
        """Whether the number changes significantly, or is known to stay the same."""
        return self.is_same or (self._excludes_no_change and (self.p is None or self.p < ALPHA))

    @property
    def _excludes_no_change(self) -> bool:
        """Whether its own interval does, which is not corrected for other kinds of load."""
        low, high = self.factor.low, self.factor.high
        return low is not None and high is not None and not low <= 1 <= high

    @property
    def sentence(self) -> str:
        """``throughput 43 071 TPS at 10 000 rows, 31 472 TPS at 1 million; 28 % less …``."""
        number, unit = metric_of(self.measure.metric), self.measure.unit
        ends = []
        for rows in self._extremes:
            mean = over_runs(self._at(rows), number)
            value = self.measure.format_value(mean.value) if mean else NOTHING
            ends.append(f"{value} {unit} at {rows_text(rows)}")
        few, many = ends
        return f"{self.label}: {self.measure.noun} {few} rows, {many}; {self._change()}."

    @property
    def line(self) -> CurveSeries:
        """The fitted line, from end to end."""
        ends = {rows: self.curve.mean_at(rows) for rows in self._extremes}
        return curve_through(f"{self.label}, fitted", ends, is_fitted=True)

    def between_ends(self) -> str:
        """The smallest against the largest size, with the repeats needed to distinguish them."""
        least, most = (self._at(rows)[0].point[self.over] for rows in self._extremes)
        both = pairs(self.among, self.over, least, most)
        found = compared(both, (self.measure.metric,)) if both else {}
        text = found[self.measure.metric].sentence if found else "no block has both."
        return f"{self.label} between the ends: {text}"

    @property
    def _extremes(self) -> tuple[float, float]:
        return self.curve.rows_min, self.curve.rows_max

    def _change(self) -> str:
        low, high = self.factor.low, self.factor.high
        interval = f" (95 %: {changes(low, high)})" if low and high else ""
        if self.is_same:
            return f"within ±{percent(SAME)} with each tenfold{interval}"
        text = f"{change(self.factor.value)} with each tenfold{interval}"
        if self.is_decided:
            return text
        adjusted = ""
        if self.p is not None and self._excludes_no_change:
            adjusted = f" (p = {significant(self.p)} after Holm correction)"
        return f"{text}, which is not distinguishable from no change{adjusted}"

    def _at(self, rows: float) -> list[Trial]:
        return [trial for trial in self.among if rows_of(trial, self.over) == rows]


def decade_effects(
    sides: Mapping[str, Sequence[Trial]], over: str, measure: Measure
) -> list[DecadeEffect]:
    """The effects under all kinds of load, judged together."""
    found = (_decade_effect(label, among, over, measure) for label, among in sides.items())
    effects = [one for one in found if one is not None]
    chances = {place: one.p for place, one in enumerate(effects) if one.p is not None}
    adjusted = dict(zip(chances, holm(list(chances.values())), strict=True))
    return [replace(one, p=adjusted.get(place)) for place, one in enumerate(effects)]


def _decade_effect(
    label: str, among: Sequence[Trial], over: str, measure: Measure
) -> DecadeEffect | None:
    """None if the number was not measured at two sizes of one block."""
    number = metric_of(measure.metric)
    found = ((trial.block, rows_of(trial, over), number(trial)) for trial in among)
    points = [(block, rows, value) for block, rows, value in found if value]
    if not points:
        return None
    curve, effect = volume_curve([(rows, value) for _, rows, value in points]), per_decade(points)
    if curve is None or effect is None:
        return None
    return DecadeEffect(label, among, over, measure, curve, effect.factor, effect.p)
