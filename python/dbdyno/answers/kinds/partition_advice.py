"""When to partition: the number of rows from which maintenance takes longer than acceptable.

Each kind of maintenance (a vacuum, an index build, a rewrite of table and indexes) was timed at
every size; the advice is the size at which its time (``answers/maintenance.py``) exceeds the limit.
It is computed from this host alone and is no fixed number: it is an extrapolation, whose doubt is
the number of decades that it goes beyond what was measured.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from dbdyno.analysis.statistics.estimate import IntervalEstimate
from dbdyno.answers.answer import (
    Answer,
    Answered,
    Claim,
    CurveOf,
    CurveSeries,
    TableOf,
    Trials,
)
from dbdyno.answers.curves import curve_through
from dbdyno.answers.grouping import chosen, title_of
from dbdyno.answers.maintenance import Maintenance
from dbdyno.answers.table_size import (
    loads,
    phase_times,
    rows_of,
    rows_text,
)
from dbdyno.answers.tables import table
from dbdyno.answers.vacuuming import vacuums_of
from dbdyno.formatting import NOTHING, seconds, significant


def answer(trials: Trials, options: Mapping[str, Any]) -> Answered:
    """The advice is the smallest number of rows over all kinds of maintenance."""
    found = _upkeeps(trials, options)
    if not found:
        return Answered(claims=[], missing="no maintenance was timed")
    claims = [_claim(one) for one in found]
    marks = [(rows.value, one.name) for one in found if (rows := one.rows) is not None]
    picture = CurveOf(
        title="Maintenance time, extrapolated",
        summary="; ".join(f"{name} at {rows_text(rows)} rows" for rows, name in marks),
        x_title=title_of(trials, str(options["over"])),
        y_title="s",
        series=[series for one in found for series in _series(one)],
        x_axis="log",
        y_axis="log",
        marks=marks,
    )
    return Answered(claims=[_advice(found), *claims], shown=[_table(found), picture])


def _table(found: Sequence[Maintenance]) -> TableOf:
    sizes = sorted({rows for one in found for rows, _ in one.measured})

    def at_size(rows: float) -> Callable[[Maintenance], str]:
        return lambda one: seconds(one.means[rows].value) if rows in one.means else NOTHING

    return table(
        "Maintenance time by size",
        found,
        {
            "": lambda one: one.name,
            **{rows_text(rows): at_size(rows) for rows in sizes},
            "grows with rows to the power of": lambda one: (
                significant(one.curve.exponent.value) if one.curve else NOTHING
            ),
            f"takes {seconds(found[0].wait_s)} at": lambda one: (
                f"{rows_text(one.rows.value)} rows{' or fewer' if one.is_passed else ''}"
                if one.rows
                else NOTHING
            ),
        },
        texts=("",),
        note="Geometric means where there were several. A rewrite is estimated as filling the "
        "table and rebuilding its indexes.",
    )


def _upkeeps(trials: Trials, options: Mapping[str, Any]) -> list[Maintenance]:
    """The kinds of maintenance that were timed."""
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
    return [Maintenance(name, measured, wait_s) for name, measured in named.items() if measured]


def _claim(one: Maintenance) -> Claim:
    rows, wait = one.rows, seconds(one.wait_s)
    if rows is None:
        sentence = f"The {one.name} takes {wait} at no size below 10¹⁵ rows."
        return Claim(sentence=sentence, is_decided=False, doubt=one.doubt)
    near = "at" if one.is_decided else "near"
    if one.is_passed:
        near = f"or more already {near}"
    return Claim(
        sentence=f"The {one.name} takes {wait} {near} {rows_text(rows.value)} rows{_range(rows)}.",
        is_decided=one.is_decided,
        effect=rows.value,
        low=rows.low,
        high=rows.high,
        doubt=one.doubt,
        evidence={"measurements": len(one.measured)},
    )


def _advice(found: Sequence[Maintenance]) -> Claim:
    known = [(rows, one) for one in found if (rows := one.rows) is not None]
    if not known:
        return Claim(sentence="No maintenance takes that long below 10¹⁵ rows.", is_decided=False)
    rows, first = min(known, key=lambda each: each[0].value)
    at, wait = f"{rows_text(rows.value)} rows", seconds(first.wait_s)
    if first.is_passed:
        advice = (
            f"On this host the {first.name} takes {wait} or more already at {at}{_range(rows)}: "
            "keep partitions smaller than that, or measure smaller ones to find out how small."
        )
    elif first.is_decided or rows.value <= max(first.means):
        advice = (
            f"On this host partition above about {at} if maintenance must finish within {wait}: "
            f"beyond that the {first.name} takes longer{_range(rows)}."
        )
    else:
        advice = (
            "Tables as large as those measured need no partitions for the sake of maintenance; by "
            f"rough extrapolation the {first.name} is the first to take {wait}, near "
            f"{at}{_range(rows)}."
        )
    return Claim(
        sentence=advice,
        is_decided=first.is_decided,
        effect=rows.value,
        low=rows.low,
        high=rows.high,
        doubt=first.doubt,
        evidence={one.name: each.value for each, one in known},
    )


def _range(rows: IntervalEstimate) -> str:
    if rows.low is None and rows.high in (None, rows.value):
        return ""  # its end is not known, or all of it is below what was measured
    low = "fewer" if rows.low is None else rows_text(rows.low)
    high = "more" if rows.high is None else rows_text(rows.high)
    return f" (95 %: {low} to {high})"


def _series(one: Maintenance) -> Iterator[CurveSeries]:
    yield curve_through(one.name, one.means)
    if one.rows is not None and one.curve is not None:
        ends = (one.curve.rows_min, max(one.rows.value, one.curve.rows_max))
        line = {rows: one.curve.predicted_at(rows) for rows in ends}
        yield curve_through(f"{one.name}, fitted", line, is_fitted=True)


ANSWER = Answer(
    id="partition-advice",
    title="When to partition",
    options={
        "over": "the factor of rows",
        "at": "levels of other factors: the runs whose vacuums are timed",
        "wait_s": "the longest acceptable maintenance time, in seconds",
    },
    answer=answer,
)
