"""How much throughput each kind of event cost, and what no event explains.

Everything is measured against one baseline: the median of steady intervals without an event, at the
highest level that the run kept. A load with stages has no such level and is not analysed.
Overlapping events share their losses by one non-negative regression on all of them. Whether a kind
cost anything is tested by placing its events at random positions in the run, many times; losses
that chance alone explains stay in the unexplained.

An event here also covers the time after it in which the curve stays far below its level. Stalls,
dips and falls themselves are what is to be explained, not explanations.
"""

from collections.abc import Mapping

import numpy as np
from msgspec import Struct

from dbdyno.analysis.events.curve_events import Curve, curve
from dbdyno.analysis.events.events import RunEvent, events
from dbdyno.analysis.series.planned_load import has_stages
from dbdyno.analysis.series.timeline import timeline
from dbdyno.analysis.statistics.estimate import SAMPLES_MIN, Series, median
from dbdyno.analysis.statistics.probability import student_quantile
from dbdyno.analysis.statistics.randomization_test import randomization_p
from dbdyno.analysis.statistics.spans import Mask, Span, extended_to_low_end, true_spans
from dbdyno.model.run import Run, once

CHANCE_MAX = 0.05
_SYMPTOMS = frozenset({"stall", "dip", "level"})

_ROUNDS = 100
_RARE = 0.5


class Loss(Struct, frozen=True, kw_only=True):
    """Transactions lost to events of one kind, as a share of all that were lost.

    ``of_run`` is the share of what the run could have done at its baseline. ``p_value`` is the
    fraction of random placements that lost as much: above 5 % nothing is claimed, and the
    transactions are 0. ``low`` and ``high`` are the 95 % interval of the transactions, from the
    repeats of the event, and are None if there was only one or nothing is claimed.
    """

    kind: str
    occurrences: int
    transactions: float
    share: float
    of_run: float
    low: float | None
    high: float | None
    p_value: float


class Losses(Struct, frozen=True, kw_only=True):
    """Sum and parts; ``unexplained`` is the share that no event covers."""

    transactions: float
    of_run: float
    by_kind: list[Loss]
    unexplained: float


@once
def losses(run: Run) -> Losses | None:
    """None if there are too few intervals for a baseline, or the load was meant to change."""
    of = None if has_stages(run.plan) else curve(timeline(run), run.plan)
    if of is None:
        return None
    found = _standing_out(events(run), of)
    usual = _usual(of, found)
    if usual.sum() < SAMPLES_MIN:
        return None
    baseline = median(of.tps[usual])
    missing = (baseline - of.tps) * (of.end_s - of.begin_s)
    possible = baseline * float((of.end_s - of.begin_s).sum())
    claims = _claims(of, missing, found)
    total = max(float(missing.sum()), sum(claim.transactions for claim in claims))
    by_kind = [_loss(claim, total, possible) for claim in claims]
    return Losses(
        transactions=total,
        of_run=total / possible,
        by_kind=sorted(by_kind, key=lambda loss: -loss.transactions),
        unexplained=1 - sum(loss.share for loss in by_kind) if total else 0.0,
    )


def _standing_out(found: list[RunEvent], of: Curve) -> list[RunEvent]:
    """The events without WAL switches if most intervals have one: there they are the level."""
    inside = np.zeros(len(of.tps), dtype=bool)
    for event in found:
        if event.kind == "wal_switch":
            begin, end = _span(of, event)
            inside[begin:end] = True
    is_rare = inside.mean() <= _RARE
    return [event for event in found if is_rare or event.kind != "wal_switch"]


def _usual(of: Curve, found: list[RunEvent]) -> Mask:
    """Intervals without an event, at the highest level; fewer than five are no baseline."""
    free = ~of.is_low & ~of.is_stalled
    for event in found:
        if event.kind != "level":
            begin, end = _span(of, event)
            free[begin:end] = False
    highest = free & (of.level >= of.level[free].max(initial=0.0))
    return highest if highest.sum() >= SAMPLES_MIN else free


def _span(of: Curve, event: RunEvent) -> Span:
    """The intervals that an event touches; none for an event outside the measured part."""
    if event.end_s < of.begin_s[0] or event.begin_s >= of.end_s[-1]:
        return 0, 0
    begin = int(np.searchsorted(of.end_s, event.begin_s, side="right"))
    end = int(np.searchsorted(of.begin_s, event.end_s, side="left"))
    return begin, max(end, begin + 1)


class _Claim(Struct, frozen=True):
    """Estimated cost of one kind of event."""

    kind: str
    occurrences: int
    transactions: float
    half: float | None
    p_value: float


def _claims(of: Curve, missing: Series, found: list[RunEvent]) -> list[_Claim]:
    """Claims for all kinds that occurred; kinds that chance explains do not share in the losses."""
    is_low = of.is_low | of.is_stalled
    spans = _spans(of, found)
    inside = {kind: _lasting(each, is_low) for kind, each in spans.items()}
    first = _effects(missing, inside)
    p_values = {
        kind: randomization_p(
            _without_others(missing, inside, first, kind),
            true_spans(_lasting(each, np.zeros_like(is_low))),  # one, where they overlap or touch
            is_low,
        )
        for kind, each in spans.items()
    }
    real = {kind: mask for kind, mask in inside.items() if p_values[kind] <= CHANCE_MAX}
    effects = _effects(missing, real)
    return [
        _Claim(
            kind,
            len(spans[kind]),
            effects.get(kind, 0.0) * float(inside[kind].sum()),
            _half(_without_others(missing, real, effects, kind), inside[kind])
            if kind in real
            else None,
            p_values[kind],
        )
        for kind in inside
    ]


def _spans(of: Curve, found: list[RunEvent]) -> dict[str, list[Span]]:
    """The intervals of each event, by kind."""
    spans: dict[str, list[Span]] = {}
    for event in found:
        begin, end = _span(of, event)
        if event.kind not in _SYMPTOMS and begin < end:
            spans.setdefault(event.kind, []).append((begin, end))
    return spans


def _lasting(spans: list[Span], is_low: Mask) -> Mask:
    """Mask of the intervals of all events and of those that stayed low after them."""
    inside = np.zeros(len(is_low), dtype=bool)
    ends = extended_to_low_end(np.array([end for _, end in spans]), is_low).tolist()
    for (begin, _), end in zip(spans, ends, strict=True):
        inside[begin:end] = True
    return inside


def _effects(missing: Series, inside: Mapping[str, Mask]) -> dict[str, float]:
    """Cost of an interval of each kind: non-negative least squares by coordinate descent.

    With a handful of kinds it converges in a few rounds, to the unique optimum.
    """
    effects = dict.fromkeys(inside, 0.0)
    for _ in range(_ROUNDS):
        for kind, mask in inside.items():
            own = _without_others(missing, inside, effects, kind)[mask]
            effects[kind] = max(float(own.mean()), 0.0)
    return effects


def _without_others(
    missing: Series, inside: Mapping[str, Mask], effects: Mapping[str, float], kind: str
) -> Series:
    """The missing transactions minus those that other kinds account for."""
    rest = missing.copy()
    for other, mask in inside.items():
        if other != kind:
            rest[mask] -= effects[other]
    return rest


def _half(rest: Series, inside: Mask) -> float | None:
    """Half-width of the interval of the sum over all repeats: t·s·√n; None for a single one."""
    repeats = [float(rest[begin:end].sum()) for begin, end in true_spans(inside)]
    if len(repeats) < 2:
        return None
    return student_quantile(len(repeats) - 1) * float(np.std(repeats, ddof=1) * len(repeats) ** 0.5)


def _loss(claim: _Claim, total: float, possible: float) -> Loss:
    """The loss of one kind; nothing is claimed for a kind that chance explains."""
    lost, half = claim.transactions, claim.half
    return Loss(
        kind=claim.kind,
        occurrences=claim.occurrences,
        transactions=lost,
        share=lost / total if total else 0.0,
        of_run=lost / possible,
        low=None if half is None else lost - half,
        high=None if half is None else lost + half,
        p_value=claim.p_value,
    )
