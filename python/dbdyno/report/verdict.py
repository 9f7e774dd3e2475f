"""The sentences at the top of every report: whether these numbers can be used, and how far.

``text`` and ``html`` show the same sentences.
"""

from collections.abc import Iterator

from dbdyno.explain.sentences import capitalized
from dbdyno.formatting import count, tps
from dbdyno.model.record import Latency, RunRecord

PERCENTILE_NAMES = {
    "p50": "p50",
    "p90": "p90",
    "p95": "p95",
    "p99": "p99",
    "p999": "p99.9",
    "p9999": "p99.99",
    "max": "max",
}


def verdict(record: RunRecord) -> str:
    """The verdict in one sentence."""
    if record.status == "running":
        return "The run is in progress: these are the results so far."
    if record.status == "interrupted":
        return "Interrupted: these are the results of the part that was recorded."
    if record.status == "failed":
        return "The run failed: these are the results until then."
    if record.valid is None:
        return "Validity was not determined."
    return "Valid." if record.valid else "Not valid: do not use these results."


def reasons(record: RunRecord) -> list[str]:
    """Why a run is not valid, one sentence each."""
    return [capitalized(reason) for reason in record.invalid_reasons]


def doubts(record: RunRecord) -> list[str]:
    """What weakens the numbers, one sentence each."""
    return [capitalized(doubt) for doubt in record.doubts]


def interval_text(record: RunRecord) -> str:
    """The interval of the throughput, and what it is based on."""
    found = record.throughput_tps
    if found is None or found.low is None or found.high is None:
        return "no interval: too few samples"
    effective = count(round(found.samples_effective or 0))
    return (
        f"{tps(found.low)} to {tps(found.high)}: 95 % interval within this run "
        f"({found.samples} samples, effective sample size {effective})"
    )


def percentiles(latency: Latency) -> Iterator[tuple[str, float]]:
    """Names as usually written, and milliseconds."""
    for field, name in PERCENTILE_NAMES.items():
        yield name, getattr(latency, field)


def transaction_text(record: RunRecord) -> str:
    """How many transactions there were, and their outcomes."""
    counts = record.transactions
    if counts is None:
        return ""
    rest = ("failed", "skipped", "unfinished", "waiting", "retried")
    others = [f"{count(getattr(counts, name))} {name}" for name in rest if getattr(counts, name)]
    of_them = {
        "late": counts.late,
        "rolled back by the script": counts.rolled_back,
        "rolled back by the server": counts.aborted,
        "left open": counts.left_open,
    }
    said = ", ".join(f"{count(number)} {what}" for what, number in of_them.items() if number)
    noted = f" (of them {said})" if said else ""
    return ", ".join([f"{count(counts.ok)} ok{noted}", *others])
