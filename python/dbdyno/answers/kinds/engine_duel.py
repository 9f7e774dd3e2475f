"""Two variants compared under several kinds of load: which is faster where, and by how much.

The verdict is on throughput, over all levels of ``over`` (clients) together; response times have
claims of their own, because the faster variant in one may be slower in the other. Single rows of
the table rest on few pairs each: they are shown with their intervals and not judged.
``answers/variant_pairs.py`` describes how a comparison is judged.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dbdyno.analysis.statistics.estimate import Ratio
from dbdyno.answers.answer import (
    Answer,
    Answered,
    Claim,
    CurveOf,
    TableOf,
    Trials,
)
from dbdyno.answers.curves import extent_text, series_over
from dbdyno.answers.grouping import by_level, chosen, title_of
from dbdyno.answers.intervals import INTERVAL_NOTE, interval_text, times_of
from dbdyno.answers.measuring import Number, over_runs, p95_ms, ratio_of, throughput
from dbdyno.answers.variant_pairs import DuelResult, VariantPair, duel_results, turn_text
from dbdyno.formatting import NOTHING, milliseconds, percent, tps
from dbdyno.model.study import MARGIN

_SAME = f"are the same within ±{percent(MARGIN)}"


def answer(trials: Trials, options: Mapping[str, Any]) -> Answered:
    """The verdict on all loads in one sentence, then one claim per load, and the curves."""
    factor, by, over = (str(options[name]) for name in ("factor", "by", "over"))
    duels = [
        VariantPair(load, sides[0], sides[1], among, factor, over)
        for load, among in by_level(trials, chosen(trials, options.get("at")), by).items()
        if len(sides := list(by_level(trials, among, factor))) > 1
    ]
    by_rate, by_time = duel_results(duels, throughput), duel_results(duels, p95_ms)
    if not by_rate:
        return Answered(claims=[], missing=f"no runs of two levels of {factor}")
    times = {one.duel.load: one for one in by_time}
    shown = TableOf(
        title="Who is ahead",
        columns=(title_of(trials, by), "ahead in throughput", "by", "95th percentile"),
        rows=[_lead_row(one, times.get(one.duel.load)) for one in by_rate],
        note="By the verdicts above: – where neither is known to be ahead.",
    )
    over = title_of(trials, over)
    return Answered(
        claims=[
            _verdict(by_rate, over),
            *(_rate_claim(one) for one in by_rate),
            *(_time_claim(one) for one in by_time),
        ],
        shown=[
            shown,
            _table(duels, over),
            *(curve for duel in duels for curve in _curves(duel, over)),
        ],
    )


def _verdict(found: Sequence[DuelResult], over: str) -> Claim:
    """All loads in one sentence, by the leading variant; decided if any of them is."""
    has_levels = any(len(one.duel.by_level()) > 1 for one in found)
    mean = f", on average over {over}," if has_levels else ""
    first, second = found[0].duel.first, found[0].duel.second
    led = [one for one in found if one.has_leader]
    undecided = [one for one in found if not one.is_decided]
    parts = [
        *_lead(second, [(one.duel, one.ratio) for one in led]),
        *_lead(first, [(one.duel, one.inverse) for one in led]),
    ]
    for verdict, text in (("same", _SAME), ("cannot tell", "cannot be told apart")):
        if names := ", ".join(one.duel.load for one in found if one.verdict == verdict):
            parts.append(f"{first} and {second} {text} in {names}")
    return Claim(
        sentence=f"In throughput{mean} {'; '.join(parts)}.",
        is_decided=len(undecided) < len(found),
        undecided=", ".join(one.duel.load for one in undecided),
        doubt=" ".join(f"{one.duel.load}: {one.lack}" for one in undecided),
    )


def _lead(name: str, ratios: Sequence[tuple[VariantPair, Ratio]]) -> list[str]:
    """Loads in which a variant leads; ``ratios`` are its own over the other's."""
    ahead = [f"{duel.load}, {times_of(ratio)}" for duel, ratio in ratios if ratio.value > 1]
    return [f"{name} leads in {' and in '.join(ahead)}"] if ahead else []


def _rate_claim(one: DuelResult) -> Claim:
    duel = one.duel
    text = f"{duel.second} has {times_of(one.ratio)} the throughput of {duel.first}"
    if one.verdict == "worse":
        text = f"{duel.first} has {times_of(one.inverse)} the throughput of {duel.second}"
    elif one.verdict == "same":
        text = f"both {_SAME} ({text})"
    elif not one.is_decided:
        text = f"cannot be told apart ({text})"
    return Claim(
        sentence=f"{duel.load}: {text}.",
        is_decided=one.is_decided,
        effect=one.ratio.value,
        low=one.ratio.low,
        high=one.ratio.high,
        doubt=_doubt(one, throughput),
        evidence={"p_adjusted": one.p, "pairs": len(duel.pairs())},
    )


def _time_claim(one: DuelResult) -> Claim:
    duel, ratio = one.duel, one.ratio
    change = "higher" if ratio.value > 1 else "lower"
    text = "95th percentiles cannot be told apart"
    if one.has_leader:
        text = f"{duel.second}'s 95th percentile is {percent(abs(ratio.value - 1))} {change}"
    elif one.is_decided:
        text = f"95th percentiles {_SAME}"
    return Claim(
        sentence=f"{duel.load}: {text} ({times_of(ratio)} that of {duel.first}).",
        is_decided=one.is_decided,
        effect=ratio.value,
        low=ratio.low,
        high=ratio.high,
        doubt=_doubt(one, p95_ms),
        evidence={"p_adjusted": one.p, "pairs": len(duel.pairs())},
    )


def _doubt(one: DuelResult, number: Number) -> str:
    duel = one.duel
    doubts = (one.lack, turn_text(one, number), duel.left_out_text(number))
    return " ".join(filter(None, doubts))


def _lead_row(rate: DuelResult, time: DuelResult | None) -> tuple[str, ...]:
    def higher(one: DuelResult) -> tuple[str, str]:
        if not one.has_leader:
            return NOTHING, ""
        is_second = one.ratio.value > 1
        ratio = one.ratio if is_second else one.inverse
        return (one.duel.second if is_second else one.duel.first), percent(ratio.value - 1)

    slower, by = higher(time) if time else (NOTHING, "")
    return rate.duel.load, *higher(rate), f"{slower} {by} higher" if by else NOTHING


def _table(duels: Sequence[VariantPair], over: str) -> TableOf:
    first, second = duels[0].first, duels[0].second
    return TableOf(
        title=f"{first} and {second} side by side",
        columns=(
            "load", over, f"{first} TPS", f"{second} TPS", "ratio",
            f"{first} p95", f"{second} p95", "ratio of p95",
        ),
        rows=[row for duel in duels for row in _rows(duel)],
        numeric=frozenset(range(1, 8)),
        note=f"Ratios are {second} over {first}. {INTERVAL_NOTE}",
    )  # fmt: skip


def _rows(duel: VariantPair) -> Iterator[tuple[str, ...]]:
    for level, here in duel.by_level().items():
        sides = list(zip(*here, strict=True))
        yield (
            duel.load,
            level,
            *(interval_text(over_runs(side, throughput)) for side in sides),
            interval_text(ratio_of(here, throughput)),
            *(interval_text(over_runs(side, p95_ms), milliseconds) for side in sides),
            interval_text(ratio_of(here, p95_ms)),
        )


def _curves(duel: VariantPair, over: str) -> Iterator[CurveOf]:
    for number, title, text in (
        (throughput, "Throughput, TPS", lambda value: f"{tps(value)} TPS"),
        (p95_ms, "95th percentile, ms", milliseconds),
    ):
        series = [
            series_over(name, duel.side(name), duel.over, number)
            for name in (duel.first, duel.second)
        ]
        if all(len(one.x) > 1 for one in series):
            yield CurveOf(
                title=f"{duel.load}: {title.split(',')[0].lower()} against {over}",
                summary=f"{'; '.join(extent_text(one, text) for one in series)}.",
                x_title=over,
                y_title=title,
                series=series,
                x_axis="log",
            )


ANSWER = Answer(
    id="engine-duel",
    title="Which is faster under which load",
    options={
        "factor": "the factor whose first two levels are compared",
        "by": "the factor of the kinds of load, with a claim for each",
        "over": "the factor on the x axis of the curves",
        "at": "levels of other factors",
    },
    answer=answer,
)
