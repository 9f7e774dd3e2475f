"""Full-page writes: what images of whole pages add to the log of a transaction.

Bytes of WAL per transaction are counted, not timed, so noise hardly moves them: they tell the
effect also where throughput is too noisy to tell. Which part of them are images follows from the
server's own count (``analysis/wal.py``). Compares ``full_page_writes`` on with off, pair by pair;
what a checkpoint does within a run is the matter of ``checkpoint-dips``.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from dbdyno.answers.answer import Answer, Answered, Claim, TableOf, Trial, Trials
from dbdyno.answers.grouping import (
    chosen,
    compared,
    cost_of,
    interval_words,
    mean_of,
    over_runs,
    pairs,
    throughput,
    times_of,
)
from dbdyno.model.comparison import MetricComparison
from dbdyno.words import NOTHING, percent, significant, size

FACTOR = "full_page_writes"
OFF, ON = "off", "on"
WAL, TPS = "wal_bytes", "throughput_tps"


def answer(trials: Trials, options: Mapping[str, Any]) -> Answered:
    """The verdict is on WAL bytes, and says beside it what throughput can tell."""
    among = chosen(trials, options.get("at"))
    both = pairs(among, FACTOR, OFF, ON)
    found = compared(both, (WAL, TPS)) if both else {}
    if WAL not in found:
        missing = "no pair of runs with full_page_writes on and off whose WAL was counted"
        return Answered(claims=[], missing=missing)
    off, on = [trial for trial, _ in both], [trial for _, trial in both]
    return Answered(
        claims=[_of_wal(found[WAL], on, found.get(TPS))],
        shown=[_table({OFF: off, ON: on})],
    )


def _of_wal(wal: MetricComparison, on: Sequence[Trial], tps: MetricComparison | None) -> Claim:
    images = mean_of(on, cost_of("wal_full_page_bytes"))
    whole = mean_of(on, cost_of(WAL)) or 0.0
    part = f"; {percent(images / whole)} of it are images of whole pages" if images else ""
    is_told = wal.verdict in ("better", "worse")
    despite = ". That is beyond doubt although throughput cannot tell"
    noise = despite if is_told and tps and tps.verdict == "cannot tell" else ""
    return Claim(
        sentence=f"With full_page_writes on a transaction writes {size(wal.after)} of WAL, with it "
        f"off {size(wal.before)}: {times_of(wal)}{part}{noise}.",
        told=is_told,
        effect=wal.ratio,
        low=wal.low,
        high=wal.high,
        doubt=tps.words if tps else "Throughput was not measured in both.",
        evidence={
            "wal_bytes_on": wal.after,
            "wal_bytes_off": wal.before,
            "wal_full_page_bytes_on": images,
            "throughput_verdict": tps.verdict if tps else None,
            "throughput_ratio": tps.ratio if tps else None,
            "pairs": wal.pairs,
        },
    )


def _table(sides: Mapping[str, Sequence[Trial]]) -> TableOf:
    return TableOf(
        title="What a transaction writes to the WAL, by full_page_writes",
        columns=("full_page_writes", "runs", "WAL", "records", "images", "images, count", "TPS"),
        rows=[_row(level, among) for level, among in sides.items()],
        numeric=frozenset(range(1, 7)),
        note="Means over runs; in brackets the 95 % interval between runs.",
    )


def _row(level: str, among: Sequence[Trial]) -> tuple[str, ...]:
    images = mean_of(among, cost_of("full_page_images"))
    return (
        level,
        str(len(among)),
        interval_words(over_runs(among, cost_of(WAL)), size),
        *(_size_of(among, part) for part in ("wal_record_bytes", "wal_full_page_bytes")),
        NOTHING if images is None else significant(images),
        interval_words(over_runs(among, throughput)),
    )


def _size_of(among: Sequence[Trial], part: str) -> str:
    found = mean_of(among, cost_of(part))
    return NOTHING if found is None else size(found)


ANSWER = Answer(
    id="full-page-writes",
    title="What full-page writes cost",
    options={"at": "levels of the other factors at which on and off are compared"},
    answer=answer,
)
