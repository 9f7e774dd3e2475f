"""Throughput of each measurement interval over time, with checkpoints and autovacuum runs.

There is one chart for each level of a factor, of the first run there: events belong to one run, and
points of several runs in one chart would hide which dip belongs to which event. The cost of the
events is the subject of other answers.
"""

from collections.abc import Mapping
from typing import Any

from dbdyno.analysis.events.events import events
from dbdyno.answers.answer import (
    Answer,
    Answered,
    CurveSeries,
    ScatterOf,
    SpanOf,
    Trial,
    Trials,
)
from dbdyno.answers.grouping import by_level, chosen, title_of
from dbdyno.explain.sentences import amount
from dbdyno.formatting import seconds, tps

DRAWN = ("checkpoint", "autovacuum")


def answer(trials: Trials, options: Mapping[str, Any]) -> Answered:
    """Charts alone: a curve makes no claim."""
    factor = str(options["by"])
    levels = by_level(trials, chosen(trials, options.get("at")), factor)
    if not levels:
        return Answered(claims=[], missing=f"no run at these levels for each {factor}")
    title = title_of(trials, factor)
    pictures = [_picture(f"{title} {level}", among[0]) for level, among in levels.items()]
    return Answered(claims=[], shown=pictures)


def _picture(label: str, trial: Trial) -> ScatterOf:
    whole = trial.timeline.whole_intervals()
    measured = whole.phase == "measure"
    spans = [
        SpanOf(kind=event.kind, begin_s=event.begin_s, end_s=event.end_s)
        for event in events(trial.run)
        if event.kind in DRAWN
    ]
    values = whole.tps[measured].tolist()
    sample = seconds(float(whole.seconds[measured].mean()))
    counted = (amount(sum(span.kind == kind for span in spans), kind, f"{kind}s") for kind in DRAWN)
    return ScatterOf(
        title=f"Throughput over time, {label}",
        summary=f"{len(values)} samples of {sample} from {tps(min(values))} to {tps(max(values))} "
        f"TPS; {' and '.join(counted)}. Run {trial.record.run_id}.",
        y_title="TPS",
        series=[CurveSeries(label=label, x=whole.time_s[measured].tolist(), y=values)],
        spans=spans,
    )


ANSWER = Answer(
    id="throughput-over-time",
    title="Throughput over time",
    options={
        "by": "the factor with a chart for each level",
        "at": "levels of the other factors; the first run there is shown",
    },
    answer=answer,
)
