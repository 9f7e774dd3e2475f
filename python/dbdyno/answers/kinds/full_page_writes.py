"""Full-page writes: what full-page images add to the WAL of a transaction.

Bytes of WAL per transaction are counted, not timed, so noise hardly affects them: they show the
effect even where throughput is too noisy. Which part of them is images follows from the server's
own count (``analysis/events/wal.py``). Compares ``full_page_writes`` on with off, pair by pair; the
effect of a checkpoint within a run is the subject of ``checkpoint-dips``.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from dbdyno.answers.answer import Answer, Answered, Claim, Trial, Trials
from dbdyno.answers.grouping import chosen, compared, pairs
from dbdyno.answers.intervals import INTERVAL_NOTE, interval_text, times_of
from dbdyno.answers.measuring import cost_of, mean_of, over_runs, throughput
from dbdyno.answers.tables import number_of_runs, or_nothing, table
from dbdyno.formatting import significant, size
from dbdyno.model.comparison import CHANGED, MetricComparison
from dbdyno.model.study import MARGIN

FACTOR = "full_page_writes"
OFF, ON = "off", "on"
MANY = 0.01
"""Images per transaction: fewer may have other causes than the first change of a page."""
IMAGES = "full_page_images"
WAL, TPS = "wal_bytes", "throughput_tps"


def answer(trials: Trials, options: Mapping[str, Any]) -> Answered:
    """The verdict is on WAL bytes, and states beside it what throughput shows."""
    among = chosen(trials, options.get("at"))
    both = pairs(among, FACTOR, OFF, ON)
    # With the metrics and margin of the study's own contrast of the factor: both then agree.
    own = next((one for one in trials.spec.contrasts if one.factor == FACTOR), None)
    metrics = (own.metrics or trials.spec.metrics) if own else ()
    margin = own.margin if own else MARGIN
    found = compared(both, tuple(dict.fromkeys((*metrics, WAL, TPS))), margin) if both else {}
    if WAL not in found:
        missing = "no pair of runs with full_page_writes on and off whose WAL was counted"
        return Answered(claims=[], missing=missing)
    off, on = [trial for trial, _ in both], [trial for _, trial in both]
    shown = table(
        "WAL per transaction, by full_page_writes",
        {OFF: off, ON: on}.items(),
        {
            "full_page_writes": lambda side: side[0],
            "runs": lambda side: number_of_runs(side[1]),
            "WAL": lambda side: interval_text(over_runs(side[1], cost_of(WAL)), size),
            "records": lambda side: or_nothing(_wal_bytes(side[1], images=False), size),
            "images": lambda side: or_nothing(_wal_bytes(side[1], images=True), size),
            "images, count": lambda side: or_nothing(
                mean_of(side[1], cost_of(IMAGES)), significant
            ),
            "TPS": lambda side: interval_text(over_runs(side[1], throughput)),
        },
        texts=("full_page_writes",),
        note="Geometric means over runs of the numbers with an interval, arithmetic means of the "
        f"others. {INTERVAL_NOTE}",
    )
    return Answered(claims=[_claim(found[WAL], off, on, found.get(TPS))], shown=[shown])


def _claim(
    wal: MetricComparison,
    off: Sequence[Trial],
    on: Sequence[Trial],
    tps: MetricComparison | None,
) -> Claim:
    is_decided = wal.verdict in CHANGED
    despite = ". The WAL decides this, although throughput is inconclusive"
    noise = despite if is_decided and tps and tps.verdict == "cannot tell" else ""
    doubts = [] if is_decided else [wal.sentence]
    images_on = [cost_of(IMAGES)(trial) for trial in on]
    images = mean_of(on, cost_of(IMAGES)) or 0.0
    # That there are images needs no statistics, only to be seen: in every run on, in none off.
    is_counted = (
        len(on) > 1
        and all((of_run or 0.0) > MANY for of_run in images_on)
        and not any(cost_of(IMAGES)(trial) for trial in off)
    )
    counted = ", in every run with it on and in none with it off" if is_counted else ""
    seen = f"; {significant(images)} full-page images per transaction were counted{counted}"
    return Claim(
        sentence=f"With full_page_writes on a transaction writes {size(wal.after)} of WAL, with it "
        f"off {size(wal.before)}: {times_of(wal)}{seen if images else ''}{noise}.",
        is_decided=is_decided,
        effect=wal.ratio,
        low=wal.low,
        high=wal.high,
        doubt=" ".join([*doubts, tps.sentence if tps else "Throughput was not measured in both."]),
        evidence={
            "wal_bytes_on": wal.after,
            "wal_bytes_off": wal.before,
            "images_on": images_on,
            "throughput_verdict": tps.verdict if tps else None,
            "throughput_ratio": tps.ratio if tps else None,
            "pairs": wal.pairs,
        },
    )


def _wal_bytes(among: Sequence[Trial], *, images: bool) -> float | None:
    """Bytes of images or of the rest; the size of images is an estimate: at most all WAL bytes."""
    whole = mean_of(among, cost_of(WAL))
    if whole is None:
        return None
    of_images = min(mean_of(among, cost_of("wal_full_page_bytes")) or 0.0, whole)
    return of_images if images else whole - of_images


ANSWER = Answer(
    id="full-page-writes",
    title="What full-page writes cost",
    options={"at": "levels of the other factors at which on and off are compared"},
    answer=answer,
)
