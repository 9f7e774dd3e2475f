"""The agents that shared a load: what each did, and whether one of them differs from the others."""

from collections.abc import Iterator, Sequence

from dbdyno.analysis.series.distributions import latency_of
from dbdyno.formatting import milliseconds, seconds
from dbdyno.model.record import WorkerRecord
from dbdyno.model.run import Histograms
from dbdyno.model.worker import WorkerPart

TRANSACTIONS_MIN = 1000
"""Fewer do not show how long an agent's transactions take."""
APART = {"p50": 1.5, "p99": 2.0}
"""A response time that is outside of all others' by more than this factor is the host's."""
LEAST_MS = 0.1
"""A smaller difference is none."""
SKEW_MAX_NS = 5_000_000


def worker_records(parts: Sequence[WorkerPart], histograms: Histograms) -> list[WorkerRecord]:
    """Return the record of each agent."""
    return [_record(part, histograms) for part in parts]


def _record(part: WorkerPart, histograms: Histograms) -> WorkerRecord:
    response = None if part.response is None else latency_of(part.response, histograms)
    per_s = part.transactions / (part.measured_ns / 1e9) if part.measured_ns else None
    cost = part.cpu_us / part.transactions if part.cpu_us and part.transactions else None
    return WorkerRecord(
        name=part.name,
        host=part.host,
        clients=part.clients,
        threads=part.threads,
        transactions=part.transactions,
        tps=per_s,
        response_ms=response,
        cpu_us_per_transaction=cost,
        clock_offset_us=part.clock_offset_ns / 1e3,
        clock_bound_us=part.clock_bound_ns / 1e3,
        begun_late_us=part.begun_late_ns / 1e3,
        lost_at_s=part.lost_at_s,
    )


def worker_doubts(parts: Sequence[WorkerPart], records: Sequence[WorkerRecord]) -> Iterator[str]:
    """Yield what about the agents weakens the numbers of the whole."""
    for part in parts:
        if part.lost_at_s is not None:
            yield (
                f"worker lost: {part.name} and its {part.clients} clients were lost after "
                f"{seconds(part.lost_at_s)} ({part.why_lost}): from then on the load was smaller"
            )
        skew_ns = max(part.begun_late_ns, part.clock_bound_ns, part.clock_drifted_ns)
        if skew_ns > SKEW_MAX_NS:
            yield (
                f"worker clock: {part.name} may have been {milliseconds(skew_ns / 1e6)} apart from "
                "the others, so that its part of a second is counted in another one"
            )
    yield from _host_effects(records)


def _host_effects(records: Sequence[WorkerRecord]) -> Iterator[str]:
    """Yield which agent saw another server than the others: for another way to it, perhaps."""
    judged = [
        (record, record.response_ms)
        for record in records
        if record.response_ms and record.transactions >= TRANSACTIONS_MIN
    ]
    for record, response in judged:
        for percentile, factor in APART.items():
            own: float = getattr(response, percentile)
            others = [
                getattr(other, percentile) for its, other in judged if its.name != record.name
            ]
            if len(others) < 2:
                continue
            is_longer = own > max(others)
            nearest = max(others) if is_longer else min(others)
            ratio = max(own, nearest) / max(min(own, nearest), 1e-9)
            is_outside = is_longer or own < min(others)
            if is_outside and ratio > factor and abs(own - nearest) > LEAST_MS:
                yield (
                    f"host effect: {percentile} of {record.name} was {milliseconds(own)}, and of "
                    f"the other workers {'at most' if is_longer else 'at least'} "
                    f"{milliseconds(nearest)}"
                )
                break
