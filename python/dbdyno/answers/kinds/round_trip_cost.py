"""What a round trip costs a transaction, by how it is sent, as predicted and as measured.

Runs differ in how long a round trip takes, as it was measured (``record.network_delay``). In each
block, a line through the mean response times of one style against it has the number of round trips
as its slope that a transaction waits for, one after the other: the engine's own count is of all.

Predicted is what another style saves at a longer round trip: what it saves at the shortest one, and
the difference of the engine's counts for each millisecond more. Locks that are held during round
trips make transactions wait for each other: then more is saved than predicted.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from dbdyno.analysis.statistics.effect import paired_ratio
from dbdyno.analysis.statistics.estimate import Ratio
from dbdyno.answers.answer import Answer, Answered, Claim, Trial, Trials
from dbdyno.answers.grouping import by_level, chosen, pairs, title_of
from dbdyno.answers.intervals import (
    INTERVAL_NOTE,
    in_brackets,
    interval_text,
    is_useless,
    times_of,
)
from dbdyno.answers.measuring import cost_of, mean_of, metric_of, over_runs, slope_of
from dbdyno.answers.tables import Points, number_of_runs, or_nothing, table
from dbdyno.formatting import milliseconds, percent, significant

AGREE_SHARE = 0.1
"""Prediction and measurement agree if they differ by less."""

response_ms, trips = metric_of("response_mean_ms"), cost_of("round_trips")


def answer(trials: Trials, options: Mapping[str, Any]) -> Answered:
    """What a round trip costs with each style; what each style saves at each longer round trip."""
    style, reference = str(options["style"]), str(options["reference"])
    delay = str(options["delay"])
    title = title_of(trials, delay)
    among = [one for one in chosen(trials, options.get("at")) if response_ms(one)]
    levels = by_level(trials, among, style)
    styles = [
        Style(name=name, slope=slope, trips=mean_of(of, trips))
        for name, of in levels.items()
        if (slope := slope_of(of, response_ms, _longer_ms))
    ]
    if not styles:
        return Answered(claims=[], missing="no block has round trips of different lengths")
    savings = [
        saving
        for name in levels
        if name != reference
        for saving in _savings(pairs(among, style, reference, name), name, delay, title)
    ]
    points = Points(trials, among)
    by_point = points.table(
        "Round trips and response times",
        points.runs,
        {
            "runs": number_of_runs,
            "a round trip longer by": lambda runs: or_nothing(
                mean_of(runs, _longer_ms), milliseconds
            ),
            "round trips": lambda runs: or_nothing(mean_of(runs, trips), significant),
            "mean response": lambda runs: interval_text(over_runs(runs, response_ms), milliseconds),
            "NOPM": lambda runs: interval_text(over_runs(runs, metric_of("nopm"))),
        },
        note=f"As measured through the proxy; round trips are per transaction. {INTERVAL_NOTE}",
    )
    saved = table(
        f"What each style saves a transaction against {reference}",
        savings,
        {
            "style": lambda one: one.style,
            "at": lambda one: one.where,
            "predicted": lambda one: milliseconds(one.predicted_ms),
            "measured": lambda one: milliseconds(one.measured_ms),
            "measured / predicted": lambda one: interval_text(one.ratio),
        },
        texts={"style", "at"},
        note=INTERVAL_NOTE,
    )
    return Answered(
        claims=[
            _verdict(styles),
            *(one.claim() for one in styles),
            *(one.claim() for one in savings),
        ],
        shown=[by_point, *([saved] if savings else [])],
    )


class Style(Struct, frozen=True, kw_only=True):
    """What a transaction takes longer for each millisecond of a round trip, and its round trips."""

    name: str
    slope: Ratio
    trips: float | None

    def claim(self) -> Claim:
        """How many round trips it waits for, beside those that it makes."""
        of = f" of the {significant(self.trips)} that it makes" if self.trips else ""
        return Claim(
            sentence=f"{self.name}: a transaction waits for {significant(self.slope.value)}"
            f"{in_brackets(self.slope)} round trips{of}.",
            is_decided=not is_useless(self.slope),
            effect=self.slope.value,
            low=self.slope.low,
            high=self.slope.high,
            evidence={"round_trips": self.trips},
        )


class Saving(Struct, frozen=True, kw_only=True):
    """What a style saves a transaction at one length of round trips; ``ratio`` is over blocks."""

    style: str
    where: str
    predicted_ms: float
    measured_ms: float
    ratio: Ratio

    def claim(self) -> Claim:
        """Whether prediction and measurement agree."""
        ratio, ends = self.ratio, (self.ratio.low, self.ratio.high)
        agrees = all(end is not None and abs(end - 1) <= AGREE_SHARE for end in ends)
        judged = "cannot be told from the prediction"
        if agrees:
            judged = f"is as predicted within ±{percent(AGREE_SHARE)}"
        elif ratio.is_significant:
            judged = f"is {'more' if ratio.value > 1 else 'less'} than predicted"
        return Claim(
            sentence=f"{self.style} saves {milliseconds(self.measured_ms)} of a transaction at "
            f"{self.where}, which {judged}: {times_of(ratio)} "
            f"{milliseconds(self.predicted_ms)}.",
            is_decided=agrees or ratio.is_significant,
            effect=ratio.value,
            low=ratio.low,
            high=ratio.high,
        )


def _longer_ms(trial: Trial) -> float:
    """By how much a round trip was longer, as measured."""
    return trial.record.network_delay.p50_ms if trial.record.network_delay else 0.0


def _savings(
    of: Sequence[tuple[Trial, Trial]], name: str, delay: str, title: str
) -> Iterator[Saving]:
    """What the second of each pair, of this style, saves against the first.

    At each length but the shortest, whose saving is that of the server and its statements.
    """
    found: dict[str, list[tuple[float, float]]] = {}
    for block in sorted({trial.block for trial, _ in of}):
        here = sorted(
            ((one, other) for one, other in of if one.block == block),
            key=lambda both: _longer_ms(both[0]),
        )
        (first, other), *longer = here
        for one, two in longer:
            # A short run may have more of the long transactions than another: its own count tells.
            fewer = (trips(one) or 0.0) - (trips(two) or 0.0)
            more_ms = _longer_ms(one) - _longer_ms(first)
            predicted = _saved_ms(first, other) + fewer * more_ms
            found.setdefault(one.point[delay], []).append((predicted, _saved_ms(one, two)))
    for level, both in found.items():
        if all(predicted > 0 and measured > 0 for predicted, measured in both):
            predicted_ms, measured_ms = (float(side) for side in np.mean(both, axis=0))
            yield Saving(
                style=name,
                where=f"{title} {level}",
                predicted_ms=predicted_ms,
                measured_ms=measured_ms,
                ratio=paired_ratio(both),
            )


def _saved_ms(one: Trial, other: Trial) -> float:
    return (response_ms(one) or 0.0) - (response_ms(other) or 0.0)


def _verdict(styles: Sequence[Style]) -> Claim:
    """All styles in one sentence; decided if any of them is."""
    parts = (f"{significant(one.slope.value)} ms with {one.name}" for one in styles)
    undecided = [one.name for one in styles if is_useless(one.slope)]
    return Claim(
        sentence="For each millisecond that a round trip takes longer, a transaction takes longer "
        f"by {', '.join(parts)}.",
        is_decided=len(undecided) < len(styles),
        undecided=", ".join(undecided),
        doubt="Too few repeats for an interval." if undecided else "",
    )


ANSWER = Answer(
    id="round-trip-cost",
    title="What a round trip costs, predicted and measured",
    options={
        "style": "the factor of how a transaction is sent",
        "reference": "the style with which the others are compared",
        "delay": "the factor of how long a round trip takes",
        "at": "levels of other factors",
    },
    answer=answer,
)
