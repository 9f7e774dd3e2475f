"""Full-page writes: what full-page images add to the WAL of a transaction.

Bytes of WAL per transaction are counted, not timed, so noise hardly affects them: they show the
effect even where throughput is too noisy. Which part of them is images follows from the server's
own count (``analysis/events/wal.py``). Compares ``full_page_writes`` on with off, pair by pair; the
effect of a checkpoint within a run is the subject of ``checkpoint-dips``.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from dbdyno.answers.answer import Answer, Answered, Claim, TableOf, Trial, Trials
from dbdyno.answers.grouping import (
    INTERVAL_NOTE,
    chosen,
    compared,
    cost_of,
    interval_text,
    mean_of,
    over_runs,
    pairs,
    throughput,
    times_of,
)
from dbdyno.formatting import NOTHING, significant, size
from dbdyno.model.comparison import CHANGED, MetricComparison

FACTOR = "full_page_writes"
OFF, ON = "off", "on"
MANY = 0.01
"""Images per transaction: fewer may have other causes than the first change of a page."""
IMAGES = "full_page_images"
WAL, TPS = "wal_bytes", "throughput_tps"

Pair: TypeAlias = tuple[Trial, Trial]


def answer(trials: Trials, options: Mapping[str, Any]) -> Answered:
    """The verdict is on WAL bytes, and states beside it what throughput shows."""
    among = chosen(trials, options.get("at"))
    both = pairs(among, FACTOR, OFF, ON)
    found = _compared(trials, both) if both else {}
    if WAL not in found:
        missing = "no pair of runs with full_page_writes on and off whose WAL was counted"
        return Answered(claims=[], missing=missing)
    off, on = [trial for trial, _ in both], [trial for _, trial in both]
    return Answered(
        claims=[_of_wal(found[WAL], off, on, found.get(TPS))],
        shown=[_table({OFF: off, ON: on})],
    )


def _compared(trials: Trials, both: Sequence[Pair]) -> dict[str, MetricComparison]:
    """With the metrics and margin of the study's own contrast of the factor: both then agree."""
    of = next((one for one in trials.spec.contrasts if one.factor == FACTOR), None)
    if of is None:
        return compared(both, (WAL, TPS))
    metrics = of.metrics or trials.spec.metrics
    return compared(both, tuple(dict.fromkeys((*metrics, WAL, TPS))), of.margin)


def _of_wal(
    wal: MetricComparison,
    off: Sequence[Trial],
    on: Sequence[Trial],
    tps: MetricComparison | None,
) -> Claim:
    is_decided = wal.verdict in CHANGED
    despite = ". The WAL decides this, although throughput is inconclusive"
    noise = despite if is_decided and tps and tps.verdict == "cannot tell" else ""
    doubts = [] if is_decided else [wal.sentence]
    return Claim(
        sentence=f"With full_page_writes on a transaction writes {size(wal.after)} of WAL, with it "
        f"off {size(wal.before)}: {times_of(wal)}{_images_text(off, on)}{noise}.",
        is_decided=is_decided,
        effect=wal.ratio,
        low=wal.low,
        high=wal.high,
        doubt=" ".join([*doubts, tps.sentence if tps else "Throughput was not measured in both."]),
        evidence={
            "wal_bytes_on": wal.after,
            "wal_bytes_off": wal.before,
            "images_on": [cost_of(IMAGES)(trial) for trial in on],
            "throughput_verdict": tps.verdict if tps else None,
            "throughput_ratio": tps.ratio if tps else None,
            "pairs": wal.pairs,
        },
    )


def _images_text(off: Sequence[Trial], on: Sequence[Trial]) -> str:
    images = mean_of(on, cost_of(IMAGES))
    if not images:
        return ""
    counted = ", in every run with it on and in none with it off" if _is_counted(off, on) else ""
    return f"; {significant(images)} full-page images per transaction were counted{counted}"


def _is_counted(off: Sequence[Trial], on: Sequence[Trial]) -> bool:
    """That there are images needs no statistics, only to be seen: in every run on, in none off."""
    return (
        len(on) > 1
        and all((cost_of(IMAGES)(trial) or 0.0) > MANY for trial in on)
        and not any(cost_of(IMAGES)(trial) for trial in off)
    )


def _table(sides: Mapping[str, Sequence[Trial]]) -> TableOf:
    return TableOf(
        title="WAL per transaction, by full_page_writes",
        columns=("full_page_writes", "runs", "WAL", "records", "images", "images, count", "TPS"),
        rows=[_row(level, among) for level, among in sides.items()],
        numeric=frozenset(range(1, 7)),
        note="Geometric means over runs of the numbers with an interval, arithmetic means of the "
        f"others. {INTERVAL_NOTE}",
    )


def _row(level: str, among: Sequence[Trial]) -> tuple[str, ...]:
    images = mean_of(among, cost_of(IMAGES))
    return (
        level,
        str(len(among)),
        interval_text(over_runs(among, cost_of(WAL)), size),
        *_parts(among),
        NOTHING if images is None else significant(images),
        interval_text(over_runs(among, throughput)),
    )


def _parts(among: Sequence[Trial]) -> tuple[str, str]:
    """Bytes of records and images; the size of images is an estimate: at most all WAL bytes."""
    whole = mean_of(among, cost_of(WAL))
    if whole is None:
        return NOTHING, NOTHING
    images = min(mean_of(among, cost_of("wal_full_page_bytes")) or 0.0, whole)
    return size(whole - images), size(images)


ANSWER = Answer(
    id="full-page-writes",
    title="What full-page writes cost",
    options={"at": "levels of the other factors at which on and off are compared"},
    answer=answer,
)
