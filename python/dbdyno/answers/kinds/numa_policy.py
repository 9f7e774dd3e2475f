"""NUMA policy: which are better than the reference beyond noise, and where memory was placed.

On a host with one NUMA node a policy has no effect: this is stated first, no effect is claimed, and
differences between levels are reported as the noise of this host. The smallest difference that the
runs can detect is given beside the published ones.
"""

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

from msgspec import Struct

from dbdyno.analysis.compare.metrics import THROUGHPUT
from dbdyno.analysis.compare.verdicts import change, changes
from dbdyno.answers.answer import (
    Answer,
    Answered,
    Claim,
    CurveOf,
    CurveSeries,
    TableOf,
    Trial,
    Trials,
)
from dbdyno.answers.curves import extent_text
from dbdyno.answers.grouping import by_level, compared_with, levels_seen, title_of
from dbdyno.answers.measuring import Number, over_runs, throughput
from dbdyno.formatting import NOTHING, milliseconds, percent, significant, size, tps
from dbdyno.model.comparison import CHANGED, MetricComparison

MARGIN = 0.01
"""Published differences are about 2 %: a larger margin would call them the same."""


class _Compared(Struct, frozen=True):
    """A policy's throughput against the reference."""

    policy: str
    metric: MetricComparison


def answer(trials: Trials, options: Mapping[str, Any]) -> Answered:
    """The verdict, one sentence per policy, and a table of all policies."""
    factor, reference = str(options["factor"]), str(options["reference"])
    # Compared here and not by the study's contrasts, which would claim an effect from noise.
    against = compared_with(trials.trials, factor, reference, THROUGHPUT, MARGIN)
    levels = levels_seen(trials, trials.trials, factor)
    found = [_Compared(policy, against[policy]) for policy in levels if policy in against]
    if not found:
        return Answered(
            claims=[], missing=f"no block has {reference} and another level of {factor}"
        )
    published = [float(share) for share in options.get("published", ())]
    detectable = list(_detectable([one.metric for one in found], published))
    if (trials.trials[0].run.host.cpu.numa_nodes or 1) > 1:
        claims = [_best(found, reference)]
        for one in found:
            sentence = f"{one.policy} against {reference}: {one.metric.sentence}"
            is_decided = one.metric.verdict != "cannot tell"
            claims.append(_claim(sentence, one.metric, is_decided=is_decided))
    else:
        claims = [_no_effect(found, reference)]
    curves = [
        _by_block(trials, factor, "Throughput, TPS", throughput),
        _by_block(trials, factor, "Mean latency, ms", _latency_ms),
    ]
    return Answered(claims=[*claims, *detectable], shown=[_table(trials, factor), *curves])


def _no_effect(found: Sequence[_Compared], reference: str) -> Claim:
    """The largest difference is given because it shows the noise of this host."""
    largest = _largest(found)
    metric, interval = largest.metric, ""
    if metric.low is not None and metric.high is not None:
        interval = f" (95 %: {changes(metric.low, metric.high)}, {metric.pairs} pairs)"
    alarms = sum(one.metric.verdict in CHANGED for one in found)
    return Claim(
        sentence="This host has one NUMA node, so no policy can have an effect and none is "
        f"claimed: any difference is noise, here at most {change(metric.ratio)} in throughput, of "
        f"{largest.policy} against {reference}{interval}",
        is_decided=False,
        effect=metric.ratio,
        low=metric.low,
        high=metric.high,
        doubt=f"{alarms} of {len(found)} comparisons would have been reported as a difference: "
        "chance does that in one study of twenty, and so does a host whose state outlasts a block"
        if alarms
        else "",
        evidence={"nodes": 1},
    )


def _largest(found: Sequence[_Compared]) -> _Compared:
    """The policy that differs most from the reference."""
    return max(found, key=lambda one: abs(one.metric.ratio - 1))


def _best(found: Sequence[_Compared], reference: str) -> Claim:
    """The policy that gained most among those that are significantly better, or that none is.

    Policies are compared with the reference, not with each other.
    """
    better = [one for one in found if one.metric.verdict == "better"]
    if better:
        best = max(better, key=lambda one: one.metric.ratio)
        others = [one.policy for one in better if one is not best]
        also = f", and so {'is' if len(others) == 1 else 'are'} {' and '.join(others)}"
        sentence = (
            f"The policy {best.policy} is better than {reference}{also if others else ''}: "
            f"{best.metric.sentence}"
        )
    else:
        best = _largest(found)
        sentence = (
            f"No policy is shown to be better than {reference}; the largest difference is that of "
            f"{best.policy}: {best.metric.sentence}"
        )
    is_decided = bool(better) or all(one.metric.verdict in ("same", "worse") for one in found)
    return _claim(sentence, best.metric, is_decided=is_decided)


def _claim(sentence: str, metric: MetricComparison, *, is_decided: bool) -> Claim:
    return Claim(
        sentence=sentence,
        is_decided=is_decided,
        effect=metric.ratio,
        low=metric.low,
        high=metric.high,
    )


def _detectable(metrics: Sequence[MetricComparison], published: Sequence[float]) -> Iterator[Claim]:
    """The smallest difference that these runs can detect, beside the published single runs."""
    known = [one.detectable for one in metrics if one.detectable is not None]
    if not known:
        return
    least = max(known) - 1
    missed = [share for share in published if share < least]
    beside = ""
    if published:
        shares = " and ".join(map(percent, published))
        verb = "could" if not missed else "could not"
        beside = f"; they {verb} detect the published differences of {shares}, from one run each"
    yield Claim(
        sentence=f"{metrics[0].pairs} pairs of runs detect a difference of {percent(least)} with "
        f"80 % power on this host{beside}",
        is_decided=not missed,
        effect=least,
        evidence={"pairs": metrics[0].pairs, "published": list(published)},
    )


def _table(trials: Trials, factor: str) -> TableOf:
    levels = by_level(trials, trials.trials, factor)
    nodes = sorted({node for trial in trials.trials for node in _memory(trial)})
    return TableOf(
        title="Throughput by policy, and placement of the server's memory",
        columns=(
            title_of(trials, factor),
            "TPS",
            "min",
            "max",
            "latency",
            "verified after start",
            *(f"memory on node {node}" for node in nodes),
        ),
        rows=[(name, *_row(runs, nodes)) for name, runs in levels.items()],
        numeric=frozenset({1, 2, 3, 4, *range(6, 6 + len(nodes))}),
        note="TPS and latency are geometric means over runs, min and max the lowest and highest "
        "run. Memory is that of the server's processes at the end of the load; on a host with one "
        "node there is nothing to compare.",
    )


def _by_block(trials: Trials, factor: str, title: str, number: Number) -> CurveOf:
    """Each run alone: policies that change places from block to block differ by noise."""
    name, unit = title.split(", ")
    series = []
    for policy, runs in by_level(trials, trials.trials, factor).items():
        values = {trial.block: value for trial in runs if (value := number(trial)) is not None}
        blocks = sorted(values)
        series.append(
            CurveSeries(
                label=policy, x=[float(at) for at in blocks], y=[values[at] for at in blocks]
            )
        )
    ranges = (f"{extent_text(one, significant)} {unit}" for one in series if one.y)
    return CurveOf(
        title=f"{name} of each run",
        summary=f"{'; '.join(ranges)}.",
        x_title="block",
        y_title=title,
        series=series,
    )


def _row(runs: Sequence[Trial], nodes: Sequence[str]) -> tuple[str, ...]:
    rates = [rate for rate in map(throughput, runs) if rate is not None]
    mean, latency = over_runs(runs, throughput), over_runs(runs, _latency_ms)
    memory = [[of[node] for of in map(_memory, runs) if node in of] for node in nodes]
    # The policy that the kernel reported after the server's start.
    verified = [sentence for trial in runs for sentence in trial.run.server.placement.verified]
    return (
        tps(mean.value if mean else None),
        *((significant(min(rates)), significant(max(rates))) if rates else (NOTHING, NOTHING)),
        milliseconds(latency.value if latency else None),
        "; ".join(dict.fromkeys(verified)) or "no policy requested",
        *(size(fmean(of_node)) if of_node else NOTHING for of_node in memory),
    )


def _latency_ms(trial: Trial) -> float | None:
    return trial.record.service_ms.mean if trial.record.service_ms else None


def _memory(trial: Trial) -> Mapping[str, float]:
    """Bytes of the server by node, after the load."""
    return trial.run.server.placement.memory_by_node_bytes.get("end", {})


ANSWER = Answer(
    id="numa-policy",
    title="Which NUMA policy is better",
    options={
        "factor": "the factor whose levels are policies",
        "reference": "the level that the others are compared with",
        "published": "published differences, as shares",
    },
    answer=answer,
)
