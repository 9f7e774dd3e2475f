"""When to partition: the number of rows from which upkeep takes longer than one will wait.

Each kind of upkeep (a vacuum, an index build, a rewrite of table and indexes) was timed at every
size here; its time grows with a power of the rows (``analysis/volume.py``), and where that passes
the wait is the advice. It is computed from this machine alone and is no fixed number: an
extrapolation, whose doubt is said by how many decades it goes beyond what was measured.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from dbdyno.analysis.ranged import Ranged
from dbdyno.analysis.volume import ROWS_MAX, VolumeCurve, volume_curve
from dbdyno.answers.answer import (
    Answer,
    Answered,
    Claim,
    CurveOf,
    CurveSeries,
    TableOf,
    Trials,
)
from dbdyno.answers.grouping import chosen, sentence_words, title_of
from dbdyno.answers.growing import (
    Measured,
    loads,
    means_by_rows,
    phase_times,
    rows_of,
    rows_words,
)
from dbdyno.answers.vacuuming import vacuums_of
from dbdyno.words import NOTHING, seconds, significant

GROWS_MIN = 0.5
"""Upkeep that grows more slowly than a root of the rows was too short to be timed."""
DECADES_MAX = 2.0
"""So far beyond what was measured an extrapolation is an advice; farther it is a guess."""


class _Upkeep(Struct, frozen=True):
    """One kind, the times that were measured, and the line through them."""

    name: str
    measured: Measured
    curve: VolumeCurve
    wait_s: float

    @property
    def grows(self) -> bool:
        """Whether the sizes were large enough for its time to grow with them."""
        return self.curve.exponent.value >= GROWS_MIN

    @property
    def rows(self) -> Ranged | None:
        """At how many it takes as long as the wait; None where that cannot be said."""
        return self.curve.rows_at(self.wait_s) if self.grows else None

    @property
    def is_told(self) -> bool:
        """Whether the answer has an interval and lies near what was measured."""
        rows = self.rows
        if rows is None or rows.low is None or rows.high is None:
            return False
        return math.log10(rows.value / self.curve.rows_max) <= DECADES_MAX

    def doubt_at(self, rows: Ranged) -> str:
        """What speaks against the answer."""
        return "; ".join(filter(None, [self.curve.doubt_at(rows.value), *self.curve.doubts]))


def answer(trials: Trials, options: Mapping[str, Any]) -> Answered:
    """The advice is the smallest number of rows over all kinds of upkeep."""
    found = list(_upkeeps(trials, options))
    if not found:
        return Answered(claims=[], missing="no upkeep was timed at two sizes")
    claims = [_claim(one) for one in found]
    title = title_of(trials, str(options["over"]))
    return Answered(claims=[_advice(found), *claims], shown=[_table(found), _picture(found, title)])


def _upkeeps(trials: Trials, options: Mapping[str, Any]) -> Iterator[_Upkeep]:
    over, wait_s = str(options["over"]), float(options["wait_s"])
    of_loads = loads(trials, over)
    vacuums = [
        (rows_of(trial, over), vacuum.elapsed_s)
        for trial in chosen(trials, options.get("at"))
        for vacuum in vacuums_of(trial)
        if vacuum.elapsed_s
    ]
    named = {
        "vacuum after updates": vacuums,
        "vacuum after loading": phase_times(of_loads, ["vacuum"]),
        "index build": phase_times(of_loads, ["keys"]),
        "rewrite": phase_times(of_loads, ["fill", "keys"]),
    }
    for name, measured in named.items():
        curve = volume_curve(measured) if measured else None
        if curve is not None:
            yield _Upkeep(name, measured, curve, wait_s)


def _claim(one: _Upkeep) -> Claim:
    rows = one.rows
    if rows is None:
        return Claim(sentence=_no_answer(one), told=False, doubt="Larger tables would tell.")
    return Claim(
        sentence=f"The {one.name} takes {seconds(one.wait_s)} at "
        f"{sentence_words(rows, rows_words)} rows.",
        told=one.is_told,
        effect=rows.value,
        low=rows.low,
        high=rows.high,
        doubt=one.doubt_at(rows),
        evidence={"exponent": one.curve.exponent.value, "measurements": len(one.measured)},
    )


def _no_answer(one: _Upkeep) -> str:
    if one.grows:
        return f"The {one.name} takes {seconds(one.wait_s)} at no size below 10¹⁵ rows."
    longest_s = max(took_s for _, took_s in one.measured)
    return (
        f"The {one.name} took at most {seconds(longest_s)} and hardly grew with the rows: nothing "
        "can be extrapolated from that."
    )


def _advice(found: list[_Upkeep]) -> Claim:
    known = [(rows, one) for one in found if (rows := one.rows) is not None]
    if not known:
        return Claim(
            sentence="When to partition cannot be said from tables this small: no upkeep takes "
            "long enough to grow with them.",
            told=False,
            doubt="Run a larger size of this study.",
        )
    rows, first = min(known, key=lambda each: each[0].value)
    return Claim(
        sentence=_advice_words(rows, first),
        told=first.is_told,
        effect=rows.value,
        low=rows.low,
        high=rows.high,
        doubt=first.doubt_at(rows),
        evidence={one.name: each.value for each, one in known},
    )


def _advice_words(rows: Ranged, first: _Upkeep) -> str:
    at, wait = f"{rows_words(rows.value)} rows", seconds(first.wait_s)
    if first.is_told:
        return (
            f"On this machine partition above about {at} if upkeep must end within {wait}: from "
            f"there the {first.name} takes longer{_range(rows)}."
        )
    return (
        f"Tables as large as those measured need no partitions for the sake of upkeep; where it "
        f"would take {wait} can only be guessed: the {first.name} first, near {at}{_range(rows)}."
    )


def _range(rows: Ranged) -> str:
    if rows.low is None and rows.high is None:
        return ""
    low = "fewer" if rows.low is None else rows_words(rows.low)
    high = "more" if rows.high is None else rows_words(rows.high)
    return f" (95 %: {low} to {high})"


def _table(found: list[_Upkeep]) -> TableOf:
    sizes = sorted({rows for one in found for rows, _ in one.measured})
    return TableOf(
        title="Time of upkeep by size",
        columns=(
            "",
            *(rows_words(rows) for rows in sizes),
            "grows as rows to the power of",
            f"takes {seconds(found[0].wait_s)} at",
        ),
        rows=[_row(one, sizes) for one in found],
        numeric=frozenset(range(1, 3 + len(sizes))),
        note="Geometric means where there were several. A rewrite is taken as filling the table "
        "and building its indexes anew.",
    )


def _row(one: _Upkeep, sizes: list[float]) -> tuple[str, ...]:
    means = means_by_rows(one.measured)
    return (
        one.name,
        *(seconds(means[at].value) if at in means else NOTHING for at in sizes),
        significant(one.curve.exponent.value),
        NOTHING if one.rows is None else f"{rows_words(one.rows.value)} rows",
    )


def _picture(found: list[_Upkeep], x_title: str) -> CurveOf:
    marks = [(rows.value, one.name) for one in found if (rows := one.rows) is not None]
    return CurveOf(
        title="Time of upkeep, extrapolated",
        summary="; ".join(f"{name} at {rows_words(rows)} rows" for rows, name in marks),
        x_title=x_title,
        y_title="s",
        series=[series for one in found for series in _series(one)],
        x_axis="log",
        y_axis="log",
        marks=marks,
    )


def _series(one: _Upkeep) -> Iterator[CurveSeries]:
    means = means_by_rows(one.measured)
    yield CurveSeries(
        label=one.name,
        x=list(means),
        y=[mean.value for mean in means.values()],
        low=[mean.low for mean in means.values()],
        high=[mean.high for mean in means.values()],
    )
    if one.rows is not None:
        ends = [one.curve.rows_min, min(one.rows.value, ROWS_MAX)]
        line = [one.curve.predicted_at(rows) for rows in ends]
        yield CurveSeries(
            label=f"{one.name}, fitted",
            x=ends,
            y=[at.value for at in line],
            low=[at.low for at in line],
            high=[at.high for at in line],
            fitted=True,
        )


ANSWER = Answer(
    id="partition-advice",
    title="When to partition",
    options={
        "over": "the factor of rows",
        "at": "levels of other factors: the runs whose vacuums are timed",
        "wait_s": "how long one is willing to wait for upkeep, in seconds",
    },
    answer=answer,
)
