"""Throughput dips at regular times, by the progress lines that another tool printed.

Looks for: at least three dips of the curve whose distances are alike, in a run of another tool. In
a run of dbdyno's own, the server's log and counters show what happened when.

Arithmetic: a dip is where throughput is below its level by more than the noise makes plausible.
Their usual distance is the median; it is regular if each distance is a multiple of it, to a fifth.
What the dips cost is the area between the level and the curve.

Source: the curve of throughput alone, as in the report.

Wrong when: something else than the server works at regular times: a backup, a scheduled job, the
load itself.
"""

from typing import ClassVar

import numpy as np

from dbdyno.analysis.events.curve_events import Curve, curve
from dbdyno.analysis.series.timeline import timeline
from dbdyno.analysis.statistics.estimate import median
from dbdyno.analysis.statistics.spans import true_spans
from dbdyno.explain.needs import needed
from dbdyno.explain.rule import Aside, Claim, NotFound, Rule, severity_of
from dbdyno.formatting import count, percent, seconds
from dbdyno.model.record import Certainty, Severity, ShareOf
from dbdyno.model.run import Run

DIPS_MIN, DIPS_SURE = 3, 5
REGULAR_TO = 0.2
"""How far a distance may be from a multiple of the usual one, as a share of it."""


class RegularDips(Claim, frozen=True, kw_only=True):
    """Dips at regular times, and what they cost."""

    dips: int
    every_s: float
    lasts_s: float
    """Median of their lengths."""
    deepest: float
    """The share of the level that was missing in the lowest interval."""
    of_run: float
    """The share of what the run would have done without them."""
    put_off: Aside[str] = ""
    """Work that the server does rarely, and then in bulk."""
    share_of: ClassVar[ShareOf] = "lost throughput"

    @property
    def severity(self) -> Severity:
        return severity_of(self.of_run)

    @property
    def certainty(self) -> Certainty:
        return "likely" if self.dips >= DIPS_SURE else "hint"

    @property
    def summary(self) -> str:
        return (
            f"Throughput dips every {seconds(self.every_s)}, {count(self.dips)} times, by up to "
            f"{percent(self.deepest)}."
        )

    @property
    def seen(self) -> list[str]:
        return [
            f"A dip lasts {seconds(self.lasts_s)}; together they cost {percent(self.of_run)} of "
            "what the run would have done.",
            f"What the server puts off comes at regular times: {self.put_off}.",
        ]

    why: ClassVar[str] = (
        "A mean over a run depends on how many dips it holds, and users meet the dips."
    )
    advice: ClassVar[list[str]] = [
        "Look up in the server's log what began at these times.",
        "Compare runs of a whole number of these periods.",
    ]
    refute: ClassVar[str] = (
        "Measure again with dbdyno run: its report sets what the server did beside the curve."
    )


def look(run: Run) -> RegularDips | NotFound:
    """The distances between the beginnings of dips."""
    if run.record.imported is None:
        return NotFound("the server's log and counters show what happened when")
    of = needed(
        curve(timeline(run), run.plan), "the text has too few progress lines to tell a level"
    )
    spans = true_spans(of.is_low | of.is_stalled)
    if len(spans) < DIPS_MIN:
        return NotFound(f"{count(len(spans))} dips are too few to be regular")
    distances_s = np.diff([of.begin_s[begin] for begin, _ in spans])
    every_s = median(distances_s)
    periods = np.maximum(np.round(distances_s / every_s), 1)
    if (np.abs(distances_s - periods * every_s) > REGULAR_TO * every_s).any():
        return NotFound("the dips come at no regular times")
    return _claim(of, spans, every_s, run.database.terms.put_off)


def _claim(of: Curve, spans: list[tuple[int, int]], every_s: float, put_off: str) -> RegularDips:
    length_s = of.end_s - of.begin_s
    missing = np.maximum(of.level - of.tps, 0) * length_s
    inside = np.zeros(len(missing), dtype=bool)
    for begin, end in spans:
        inside[begin:end] = True
    lost = float(missing[inside].sum())
    return RegularDips(
        share=lost / float(missing.sum()),
        dips=len(spans),
        every_s=every_s,
        lasts_s=median(np.array([of.end_s[end - 1] - of.begin_s[begin] for begin, end in spans])),
        deepest=float((1 - of.tps / of.level)[inside].max()),
        of_run=lost / float((of.level * length_s).sum()),
        put_off=put_off,
    )


RULE = Rule(
    id="regular_dips",
    title="Throughput dips at regular times",
    look=look,
    reads_texts=True,
    events=frozenset({"dip", "stall"}),
)
