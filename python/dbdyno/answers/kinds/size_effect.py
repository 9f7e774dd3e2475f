"""The effect of ten times the rows on throughput, response times and the server's CPU time.

Throughput is the verdict; CPU time per transaction, which noise affects less, often shows a change
where throughput does not. When a table outgrows a cache there is a step that a line does not have:
the points are drawn beside it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from dbdyno.answers.answer import Answer, Answered, Claim, CurveOf, Trial, Trials
from dbdyno.answers.curves import extent_text, series_over
from dbdyno.answers.decade_effect import DecadeEffect, Measure, decade_effects
from dbdyno.answers.grouping import by_level, chosen, title_of
from dbdyno.answers.measuring import metric_of
from dbdyno.explain.sentences import capitalized
from dbdyno.formatting import significant, tps

THROUGHPUT = Measure("throughput_tps", "throughput", "TPS", tps)
PROCESSOR = Measure("server_cpu_us", "server CPU per transaction", "µs", significant)
RESPONSE = Measure("response_p95_ms", "95th percentile", "ms", significant)


def answer(trials: Trials, options: Mapping[str, Any]) -> Answered:
    """The verdict over all kinds of load, and a chart of each number."""
    over = str(options["over"])
    sides = by_level(trials, chosen(trials, options.get("at")), str(options["by"]))
    effects = decade_effects(sides, over, THROUGHPUT)
    if not effects:
        return Answered(claims=[], missing="no load ran on tables of two sizes")
    of_processor = decade_effects(sides, over, PROCESSOR)
    return Answered(
        claims=[_claim(effects), *([_claim(of_processor)] if of_processor else [])],
        shown=[_picture(sides, over, title_of(trials, over), of) for of in (THROUGHPUT, RESPONSE)],
    )


def _claim(effects: Sequence[DecadeEffect]) -> Claim:
    """All kinds of load in one claim; its numbers are those of the first."""
    first = effects[0].factor
    undecided = [one.between_ends() for one in effects if not one.is_decided]
    doubts = dict.fromkeys(doubt for one in effects for doubt in one.curve.doubts)
    return Claim(
        sentence=" ".join(capitalized(one.sentence) for one in effects),
        is_decided=any(one.is_decided for one in effects),
        effect=first.value,
        low=first.low,
        high=first.high,
        doubt=" ".join(map(capitalized, [*undecided, *doubts])),
        evidence={
            one.label: {
                "per_tenfold": one.factor.value,
                "low": one.factor.low,
                "high": one.factor.high,
                "told": one.is_decided,
            }
            for one in effects
        },
    )


def _picture(
    sides: Mapping[str, Sequence[Trial]], over: str, x_title: str, measure: Measure
) -> CurveOf:
    number = metric_of(measure.metric)
    points = [series_over(label, among, over, number) for label, among in sides.items()]
    parts = (extent_text(one, measure.format_value) for one in points if one.y)
    title = f"{measure.noun[0].upper()}{measure.noun[1:]}"
    lines = {one.label: one.line for one in decade_effects(sides, over, measure)}
    return CurveOf(
        title=f"{title} against {x_title}",
        summary=f"{'; '.join(parts)} {measure.unit}.",
        x_title=x_title,
        y_title=f"{title}, {measure.unit}",
        series=[one for of in points for one in (of, lines.get(of.label)) if one],
        x_axis="log",
    )


ANSWER = Answer(
    id="size-effect",
    title="Effect of ten times the rows",
    options={
        "over": "the factor of rows",
        "by": "the factor of the kinds of load, with a line for each",
        "at": "levels of other factors",
    },
    answer=answer,
)
