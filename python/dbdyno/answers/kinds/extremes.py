"""Transactions per second of each point, with the lowest and highest measurement interval.

The lowest interval shows the dips that a mean hides; it depends on the length of an interval, which
is therefore given with it.
"""

from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any

from dbdyno.answers.answer import Answer, Answered, Claim, Trial, Trials
from dbdyno.answers.grouping import by_level, chosen
from dbdyno.answers.intervals import INTERVAL_NOTE, interval_sentence, interval_text
from dbdyno.answers.measuring import over_runs, throughput
from dbdyno.answers.tables import Points, number_of_runs, or_nothing
from dbdyno.formatting import percent, seconds, tps


def answer(trials: Trials, options: Mapping[str, Any]) -> Answered:
    """A claim on all levels of ``by``, one for each, from the runs at ``at``; a table of all."""
    levels = by_level(trials, chosen(trials, options.get("at")), str(options["by"]))
    if not levels:
        return Answered(claims=[], missing="no run at these levels")
    claims = [_claim(level, among) for level, among in levels.items()]
    among = chosen(trials)
    points = Points(trials, among)
    lengths = (seconds(median(trial.timeline.seconds)) for trial in among)
    shown = points.table(
        "Transactions per second: average, minimum, maximum",
        points.runs,
        {
            "runs": number_of_runs,
            "average": lambda runs: interval_text(over_runs(runs, throughput), tps),
            "minimum": lambda runs: tps(_range(runs)[0]),
            "maximum": lambda runs: tps(_range(runs)[1]),
            "min / avg": lambda runs: or_nothing(_lowest_share(runs), percent),
        },
        note="Averages are geometric means over runs; minimum and maximum are over measurement "
        f"intervals of {', '.join(dict.fromkeys(lengths))}. {INTERVAL_NOTE}",
    )
    return Answered(claims=[*_together(levels), *claims], shown=[shown])


def _together(levels: Mapping[str, Sequence[Trial]]) -> Iterator[Claim]:
    """All averages in one sentence, and how far below them the lowest intervals are."""
    means = {level: over_runs(among, throughput) for level, among in levels.items()}
    known = {level: mean for level, mean in means.items() if mean is not None}
    if len(known) < 2:
        return
    averages = (f"{level} {interval_sentence(mean, tps)}" for level, mean in known.items())
    lowest = {
        level: share for level in known if (share := _lowest_share(levels[level])) is not None
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
        f"intervals from {tps(low)} to {tps(high)}.",
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


def _lowest_share(among: Sequence[Trial]) -> float | None:
    """The lowest interval as a share of the average."""
    mean, low = over_runs(among, throughput), _range(among)[0]
    return None if mean is None or low is None else low / mean.value


ANSWER = Answer(
    id="extremes",
    title="Transactions per second",
    options={
        "by": "the factor with a sentence for each level",
        "at": "levels of other factors that the sentences are about",
    },
    answer=answer,
)
