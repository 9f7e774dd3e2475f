"""Checkpoints: the effect of each on WAL and throughput, and whether runs were long enough.

Bytes of WAL per transaction are counted before and after the start of each checkpoint
and the dip of throughput is measured relative to its level (``analysis/events/checkpoints.py``).
Means are taken within a run first, because its checkpoints are not independent. InnoDB flushes
continuously and has no such events: its runs are left out.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeAlias

from dbdyno.analysis.costs.costs import cost
from dbdyno.analysis.events.checkpoints import (
    CheckpointDip,
    CheckpointEffect,
    checkpoint_dips,
    checkpoint_effects,
)
from dbdyno.analysis.series.readings import was_read
from dbdyno.analysis.statistics.effect import paired_ratio
from dbdyno.answers.answer import Answer, Answered, Claim, TableOf, Trial, Trials
from dbdyno.answers.grouping import chosen
from dbdyno.answers.intervals import times_of
from dbdyno.answers.tables import Points, or_nothing
from dbdyno.explain.sentences import amount, capitalized
from dbdyno.formatting import NOTHING, percent, seconds, significant, size
from dbdyno.model.counters import PgCheckpointer

NOTICED = 0.05
RECORD_BYTES_MIN = 24  # the header of any WAL record: transactions that write less only read

NOT_DISTINGUISHABLE = (
    "The interval over runs includes no change: checkpoints that follow each other closely leave "
    "no period without images to compare with."
)
ONE_RUN = "A single run gives no interval: repeat it."
DIP_LIMITS = "A dip is reported if throughput falls by a tenth and far below the usual interval."

Around: TypeAlias = tuple[float, float]
"""A number before and after the begin of a checkpoint."""


class _Seen:
    """One run and its checkpoints."""

    def __init__(self, trial: Trial) -> None:
        self.trial = trial

    @cached_property
    def dips(self) -> list[CheckpointDip]:
        return checkpoint_dips(self.trial.run)

    @cached_property
    def effects(self) -> list[CheckpointEffect]:
        return checkpoint_effects(self.trial.run)

    @cached_property
    def wal_around(self) -> Around | None:
        """WAL bytes per transaction, means over the run's checkpoints."""
        return _mean_around((one.bytes_before, one.bytes_after) for one in self.effects)

    @cached_property
    def images_around(self) -> Around | None:
        """Full-page images per transaction, means over the run's checkpoints."""
        return _mean_around((one.images_before, one.images_after) for one in self.effects)


def _mean_around(pairs: Iterable[tuple[float | None, float | None]]) -> Around | None:
    known = [(before, after) for before, after in pairs if None not in (before, after)]
    means: Around | None = _means(known)
    return means


def _means(rows: Sequence[Sequence[Any]]) -> Any:
    """Means column by column; None without rows."""
    return tuple(sum(column) / len(rows) for column in zip(*rows, strict=True)) or None


def answer(trials: Trials, options: Mapping[str, Any]) -> Answered:
    """Covers all runs that wrote, on servers that have checkpoints."""
    among = [
        trial
        for trial in chosen(trials, options.get("at"))
        if (cost(trial.record.costs, "wal_bytes") or 0.0) >= RECORD_BYTES_MIN
        and was_read(trial.run, PgCheckpointer.source)
    ]
    if not among:
        return Answered(claims=[], missing="no run that wrote counted its server's checkpoints")
    points = Points(trials, among)
    rows = {point: [_Seen(trial) for trial in runs] for point, runs in points.runs.items()}
    # Points are not combined: pages newly filled by inserts are not written whole, and would
    # dilute the cost of updates.
    of_wal = [_wal_claim(points.label(point), seen) for point, seen in rows.items()]
    seen = [one for of in rows.values() for one in of]
    claims = [_long_enough(seen), *filter(None, of_wal), *_of_dips(seen)]
    shown = TableOf(
        title="Checkpoints and their effects",
        columns=(
            "runs", "checkpoints", "complete", "WAL before", "WAL after", "images before",
            "images after", "dip", "deepest", "dip length",
        ),
        rows=[_row(seen) for seen in rows.values()],
        numeric=frozenset(range(10)),
        note="WAL and images are per transaction, in up to 10 s before and after the start of a "
        "checkpoint; a dip is the mean share of throughput that was missing.",
    )  # fmt: skip
    return Answered(claims=claims, shown=[points.named(rows, shown)])


def _long_enough(seen: Sequence[_Seen]) -> Claim:
    """Whether the numbers include the cost of checkpoints at all."""
    with_begin = [one for one in seen if one.dips]
    whole = [one for one in seen if any(dip.is_whole for dip in one.dips)]
    counted = f"{len(whole)} of {len(seen)} runs contain a complete checkpoint"
    begun = f"; in {len(with_begin)} at least one started" if len(with_begin) > len(whole) else ""
    # A checkpoint slows a run from its start on, whether or not it also ends there.
    lacks = []
    if cut := len(with_begin) - len(whole):
        lacks.append(f"{amount(cut, 'run contains', 'runs contain')} only a part of a checkpoint")
    if without := len(seen) - len(with_begin):
        lacks.append(f"{amount(without, 'run', 'runs')} measured a server that no checkpoint slows")
    longer = "only longer runs or more frequent checkpoints show all that one costs."
    return Claim(
        sentence=f"{counted}{begun}.",
        is_decided=True,
        doubt=f"{' and '.join(lacks)}; {longer}" if lacks else "",
        evidence={
            "runs": len(seen),
            "held_a_whole_checkpoint": len(whole),
            "held_the_start_of_one": len(with_begin),
        },
    )


def _wal_claim(label: str, seen: Sequence[_Seen]) -> Claim | None:
    known = [one for one in seen if one.wal_around and all(each > 0 for each in one.wal_around)]
    around = [one.wal_around for one in known if one.wal_around]
    images = _means([one.images_around for one in known if one.images_around])
    if not around or not images or not images[1]:
        return None
    ratio = paired_ratio(around)
    before, after = _means(around)
    return Claim(
        sentence=capitalized(
            f"{label}{': ' if label else ''}in the seconds after a checkpoint started a "
            f"transaction wrote {size(after)} of WAL, in the seconds before {size(before)}: "
            f"{times_of(ratio)}; full-page images per transaction: {significant(images[0])} "
            f"before, {significant(images[1])} after"
        ),
        is_decided=ratio.is_significant,
        effect=ratio.value,
        low=ratio.low,
        high=ratio.high,
        doubt="" if ratio.is_significant else NOT_DISTINGUISHABLE if ratio.low else ONE_RUN,
        evidence={"bytes_before": before, "bytes_after": after, "runs": len(around)},
    )


def _of_dips(seen: Sequence[_Seen]) -> list[Claim]:
    """Depth and length of the dips; that none stood out is a result as well."""
    dips = [dip for one in seen for dip in one.dips]
    deep = [dip for dip in dips if dip.depth > NOTICED]
    if not dips:
        return []
    if not deep:
        sentence = f"None of {len(dips)} checkpoints caused a dip that stands out from the noise."
        return [Claim(sentence=sentence, is_decided=False, doubt=DIP_LIMITS)]
    depth, length_s = _means([(dip.depth, dip.length_s) for dip in deep])
    deepest = max(dip.deepest for dip in deep)
    return [
        Claim(
            sentence=f"{len(deep)} of {len(dips)} checkpoints caused a dip: "
            f"{'on average ' * (len(deep) > 1)}{percent(depth)} of the throughput was missing for "
            f"{seconds(length_s)}, in the worst interval {percent(deepest)}.",
            is_decided=len(deep) > 1,
            effect=-depth,
            doubt="" if len(deep) > 1 else "One dip is an anecdote.",
            evidence={"dips": len(deep), "checkpoints": len(dips), "length_s": length_s},
        )
    ]


def _row(seen: Sequence[_Seen]) -> tuple[str, ...]:
    dips = [dip for one in seen for dip in one.dips]
    deep = [dip for dip in dips if dip.depth > NOTICED]
    depth, length_s = _means([(dip.depth, dip.length_s) for dip in deep]) or (None, None)
    return (
        str(len(seen)),
        str(len(dips)),
        str(sum(dip.is_whole for dip in dips)),
        *_around_text([one.wal_around for one in seen], size),
        *_around_text([one.images_around for one in seen], significant),
        or_nothing(depth, percent),
        or_nothing(max((dip.deepest for dip in deep), default=None), percent),
        or_nothing(length_s, seconds),
    )


def _around_text(
    around: Sequence[Around | None], format_value: Callable[[float], str]
) -> tuple[str, str]:
    means = _means([pair for pair in around if pair])
    return (format_value(means[0]), format_value(means[1])) if means else (NOTHING, NOTHING)


ANSWER = Answer(
    id="checkpoint-dips",
    title="What checkpoints do to WAL and throughput",
    options={"at": "levels of factors to select runs; default: all runs"},
    answer=answer,
)
