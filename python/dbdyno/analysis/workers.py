"""The agents that shared a load: what each did, and whether one of them differs from the others."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from dbdyno.analysis.series.distributions import latency_of
from dbdyno.analysis.series.timeline import are_whole
from dbdyno.analysis.series.totals import duration_s
from dbdyno.analysis.statistics.estimate import Series, median
from dbdyno.formatting import counted, milliseconds, percent, seconds
from dbdyno.model.plan import Plan
from dbdyno.model.record import WorkerRecord
from dbdyno.model.run import Run, once
from dbdyno.model.worker import WorkerPart

TRANSACTIONS_MIN = 1000
"""Fewer do not show how long an agent's transactions take."""
APART = {"p50": 1.5, "p99": 2.0}
"""A response time that is outside of all others' by more than this factor is the host's."""
LEAST_MS = 0.1
"""A smaller difference is none."""
SKEW_MAX_NS = 5_000_000
"""A part of a second that is farther apart is counted in another one."""
STARVED_MIN = 0.25
"""Of the time: threads that wait so long for a CPU send late, and see answers late."""
STARVED_BEYOND = 2.0
"""All agents wait where a server takes the CPUs: one that is starved waits this much longer."""


def worker_records(run: Run, parts: Sequence[WorkerPart]) -> list[WorkerRecord]:
    """Return the record of each agent: rates and costs are of what it committed, as the run's."""
    lines = worker_lines(run)
    committed = dict(zip(lines.names, lines.committed.tolist(), strict=True))
    return [_record(run, part, committed.get(part.name, 0.0)) for part in parts]


def _record(run: Run, part: WorkerPart, committed: float) -> WorkerRecord:
    response = None if part.response is None else latency_of(part.response, run.histograms)
    measured_s = duration_s(run)
    per_s = committed / measured_s if part.lost_at_s is None and measured_s else None
    cost = part.cpu_us / committed if part.cpu_us and committed else None
    return WorkerRecord(
        name=part.name,
        host=part.host,
        clients=len(part.clients),
        threads=part.threads,
        transactions=part.transactions,
        tps=per_s,
        response_ms=response,
        cpu_us_per_transaction=cost,
        clock_offset_us=part.clock_offset_ns / 1e3,
        clock_bound_us=part.clock_bound_ns / 1e3,
        clock_drift_us=part.clock_drifted_ns / 1e3,
        begun_late_us=None if part.begun_late_ns is None else part.begun_late_ns / 1e3,
        lost_at_s=part.lost_at_s,
    )


def how_lost(part: WorkerPart) -> str:
    """Say of an agent that was lost what was lost with it, when and why."""
    assert part.lost_at_s is not None
    clients = counted(len(part.clients), "client")
    return (
        f"{part.name} and its {clients} were lost after {seconds(part.lost_at_s)} ({part.why_lost})"
    )


def worker_doubts(parts: Sequence[WorkerPart]) -> Iterator[str]:
    """Yield what about the agents weakens the numbers of the whole."""
    for part in parts:
        if part.lost_at_s is not None:
            yield f"worker lost: {how_lost(part)}: from then on the load was smaller"
        for skew_ns, how in (
            (part.begun_late_ns or 0, "began {} after the common instant"),
            (part.clock_bound_ns, "answers so slowly that its clock is known to within {} only"),
            (part.clock_drifted_ns, "has a clock that went {} apart from this host's meanwhile"),
        ):
            if skew_ns > SKEW_MAX_NS:
                yield (
                    f"worker clock: {part.name} {how.format(milliseconds(skew_ns / 1e6))}, so that "
                    "a part of each second may be counted in another one"
                )


def host_effects(
    plan: Plan, parts: Sequence[WorkerPart], records: Sequence[WorkerRecord]
) -> Iterator[str]:
    """Yield which agent saw another server than the others: for another way to it, perhaps.

    Only those with the same kinds of clients say anything about each other's host.
    """
    alike: dict[_Composition, list[WorkerRecord]] = {}
    for part, record in zip(parts, records, strict=True):
        if record.transactions >= TRANSACTIONS_MIN:
            alike.setdefault(_composition(plan, part), []).append(record)
    for those in alike.values():
        yield from _standing_apart(those)


_Composition = frozenset[tuple[tuple[int, int, int], Fraction]]


def _composition(plan: Plan, part: WorkerPart) -> _Composition:
    """Return which kinds of clients an agent has, each with its share of them.

    Those of a group have scripts of their own, and a client has its server and its standby: it
    waits as long as these take, on whatever host it is.
    """
    group_of = [number for number, its in enumerate(plan.groups or ()) for _ in range(its.clients)]
    endpoint = plan.endpoint
    servers = 1 + len(endpoint.further_addresses)
    standbys = len(endpoint.standby_addresses or ()) or 1
    kinds = Counter(
        (group_of[client] if group_of else 0, client % servers, client % standbys)
        for client in part.clients
        if client < plan.requesting_clients
    )
    return frozenset((kind, Fraction(count, kinds.total())) for kind, count in kinds.items())


def _standing_apart(records: Sequence[WorkerRecord]) -> Iterator[str]:
    """Yield whose response times are outside of all others' of the same composition."""
    judged = [(record, record.response_ms) for record in records if record.response_ms]
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
                    f"the {len(others)} other workers with such clients "
                    f"{'at most' if is_longer else 'at least'} {milliseconds(nearest)}"
                )
                break


class WorkerLines(Struct, frozen=True):
    """The numbers of each agent over the whole intervals of a run: rows are agents, by name.

    NaN where an agent reported nothing: it was lost, or had ended.
    """

    names: list[str]
    tps: NDArray[np.float64]
    p99_ms: NDArray[np.float64]
    is_measured: NDArray[np.bool_]
    """By interval: whether it is of the measured part."""
    committed: Series
    """By agent: transactions that were committed in the measured intervals, as the run's."""
    waited_s: Series
    """By agent: for how long its threads had no CPU while it measured, added up over them."""
    cpu_s: Series
    paused_s: Series
    measured_s: Series


@once
def worker_lines(run: Run) -> WorkerLines:
    """Return the numbers of all agents; no rows if the load was not shared."""
    table, intervals = run.worker_intervals, run.intervals
    is_shown = are_whole(intervals.seconds)
    shown = intervals.interval[is_shown]
    names = sorted(set(table.worker.tolist()), key=by_number)
    row_of = {name: row for row, name in enumerate(names)}
    rows = np.array([row_of[name] for name in table.worker], dtype=int)
    places = np.searchsorted(shown, table.interval)
    is_in = np.isin(table.interval, shown)
    tps, p99_ms = (np.full((len(names), len(shown)), np.nan) for _ in range(2))
    seconds_long = np.maximum(table.seconds, 1e-9)
    tps[rows[is_in], places[is_in]] = (table.completed_committed / seconds_long)[is_in]
    p99_ms[rows[is_in], places[is_in]] = table.p99_ms[is_in]
    measured = intervals.interval[intervals.phase == "measure"]
    counts = np.isin(table.interval, measured)

    def total(values: Series) -> Series:
        summed: Series = np.bincount(rows[counts], values[counts], minlength=len(names)).astype(
            float
        )
        return summed

    return WorkerLines(
        names=names,
        tps=tps,
        p99_ms=p99_ms,
        is_measured=intervals.phase[is_shown] == "measure",
        committed=total(table.completed_committed),
        waited_s=total(table.waited_us / 1e6),
        cpu_s=total(table.cpu_us / 1e6),
        paused_s=total(table.paused_us / 1e6),
        measured_s=total(table.seconds),
    )


def by_number(name: str) -> list[str | int]:
    """Order names as people do: ``local-10`` follows ``local-9``."""
    return [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", name)]


def starved_workers(run: Run, records: Sequence[WorkerRecord]) -> Iterator[str]:
    """Yield which agents stood still, or had no CPU, while the others had.

    Another host is not observed: its agent says of itself how long it was kept from working.
    """
    lines = worker_lines(run)
    threads = {record.name: record.threads for record in records}
    shares = [
        waited_s / measured_s / threads[name] if measured_s else 0.0
        for name, waited_s, measured_s in zip(
            lines.names, lines.waited_s.tolist(), lines.measured_s.tolist(), strict=True
        )
    ]
    hosts = {record.name: record.host for record in records}
    for row, (name, share, paused_s) in enumerate(
        zip(lines.names, shares, lines.paused_s.tolist(), strict=True)
    ):
        # Those on its host lack the same CPUs.
        elsewhere = [
            its
            for other, its in zip(lines.names, shares, strict=True)
            if hosts[other] != hosts[name]
        ]
        others = elsewhere or shares[:row] + shares[row + 1 :]
        typical = median(np.array(others)) if others else 0.0
        if paused_s:
            yield (
                f"worker paused: {name} itself stood still for {paused_s:.1f} s: it was stopped, "
                "or had no CPU; the numbers include that time"
            )
        elif share >= STARVED_MIN and share > STARVED_BEYOND * typical:
            where = " on other hosts" if elsewhere else ""
            yield (
                f"worker starved: the threads of {name} were ready to run and had no CPU for "
                f"{percent(share)} of the time, those of the others{where} for {percent(typical)} "
                "(median): its response times include that"
            )
