"""Transactions per second of each point, with the lowest and highest measurement interval.

The lowest interval shows the dips that a mean hides; it depends on the length of an interval, which
is therefore given with it.
"""

from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any

from dbdyno.answers.answer import Answer, Answered, Claim, TableOf, Trial, Trials
from dbdyno.answers.grouping import (
    INTERVAL_NOTE,
    by_level,
    by_point,
    chosen,
    interval_sentence,
    interval_text,
    over_runs,
    point_cells,
    throughput,
    titles_of,
    varied,
)
from dbdyno.formatting import NOTHING, percent, seconds, tps


def answer(trials: Trials, options: Mapping[str, Any]) -> Answered:
    """A claim on all levels of ``by``, one for each, from the runs at ``at``; a table of all."""
    levels = by_level(trials, chosen(trials, options.get("at")), str(options["by"]))
    if not levels:
        return Answered(claims=[], missing="no run at these levels")
    claims = [_claim(level, among) for level, among in levels.items()]
    return Answered(claims=[*_together(levels), *claims], shown=[_table(trials, chosen(trials))])


def _together(levels: Mapping[str, Sequence[Trial]]) -> Iterator[Claim]:
    """All averages in one sentence, and how far below them the lowest intervals are."""
    means = {level: over_runs(among, throughput) for level, among in levels.items()}
    known = {level: mean for level, mean in means.items() if mean is not None}
    if len(known) < 2:
        return
    averages = (f"{level} {interval_sentence(mean, tps)}" for level, mean in known.items())
    lowest = {
        level: low / mean.value
        for level, mean in known.items()
        if (low := _range(levels[level])[0]) is not None
    }
    shares = ", ".join(f"{level} {percent(share)}" for level, share in lowest.items())
    below = f"; the lowest measurement interval as a share of that: {shares}" if lowest else ""
    first = next(iter(known.values()))
    yield Claim(
        sentence=f"transactions per second: {', '.join(averages)}{below}.",
        is_decided=True,
        effect=first.value,
        low=first.low,
        high=first.high,
        evidence={f"lowest_share_{level}": share for level, share in lowest.items()},
    )


def _claim(level: str, among: Sequence[Trial]) -> Claim:
    mean = over_runs(among, throughput)
    if mean is None:
        return Claim(sentence=f"{level}: no transaction committed.", is_decided=False)
    low, high = _range(among)
    return Claim(
        sentence=f"{level}: {interval_sentence(mean, tps)} transactions per second; measurement "
        f"intervals from {_or_nothing(low)} to {_or_nothing(high)}.",
        is_decided=True,
        effect=mean.value,
        low=mean.low,
        high=mean.high,
    )


def _range(among: Sequence[Trial]) -> tuple[float | None, float | None]:
    """The lowest and highest interval of all these runs."""
    found = [trial.record.throughput_tps for trial in among if trial.record.throughput_tps]
    lows = [one.min for one in found if one.min is not None]
    highs = [one.max for one in found if one.max is not None]
    return min(lows, default=None), max(highs, default=None)


def _or_nothing(value: float | None) -> str:
    return NOTHING if value is None else tps(value)


def _table(trials: Trials, among: Sequence[Trial]) -> TableOf:
    factors = varied(trials, among)
    return TableOf(
        title="Transactions per second: average, minimum, maximum",
        columns=(
            *titles_of(trials, factors),
            "runs",
            "average",
            "minimum",
            "maximum",
            "min / avg",
        ),
        rows=[(*point_cells(point, factors), *_cells(of)) for point, of in by_point(among).items()],
        numeric=frozenset(range(len(factors), len(factors) + 5)),
        note="Averages are geometric means over runs; minimum and maximum are over measurement "
        f"intervals of {_length_text(among)}. {INTERVAL_NOTE}",
    )


def _cells(among: Sequence[Trial]) -> tuple[str, ...]:
    mean, (low, high) = over_runs(among, throughput), _range(among)
    share = NOTHING if mean is None or low is None else percent(low / mean.value)
    return (
        str(len(among)),
        interval_text(mean, tps),
        _or_nothing(low),
        _or_nothing(high),
        share,
    )


def _length_text(among: Sequence[Trial]) -> str:
    lengths = (median(trial.timeline.seconds) for trial in among)
    return ", ".join(dict.fromkeys(seconds(length) for length in lengths))


ANSWER = Answer(
    id="extremes",
    title="Transactions per second",
    options={
        "by": "the factor with a sentence for each level",
        "at": "levels of other factors that the sentences are about",
    },
    answer=answer,
)
