"""The agents that shared the load, each beside the others."""

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from dbdyno.analysis.series.timeline import Timeline, whole_intervals
from dbdyno.analysis.statistics.estimate import median
from dbdyno.analysis.workers import WorkerLines, worker_lines
from dbdyno.explain.explain import explained_record
from dbdyno.formatting import NOTHING, count, milliseconds, percent, seconds, significant, tps
from dbdyno.model.record import RunRecord, WorkerRecord
from dbdyno.model.run import Run
from dbdyno.report.charts import resample
from dbdyno.report.charts.over_time import span_s
from dbdyno.report.charts.small_multiples import Multiple, Multiples, small_multiples
from dbdyno.report.content import Block, Figure, Section, Table, Text

SHOWN_MAX = 24
POINTS_MAX = 120

Matrix = NDArray[np.float64]


def build(run: Run) -> Sequence[Block]:
    """A row for each agent, and how far their clocks are apart."""
    record = explained_record(run)
    if not record.workers:
        return _over_time(run)  # of a run that goes on, or was interrupted
    columns = (
        *("Worker", "Host", "Clients", "Threads", "Transactions", "Throughput, TPS", "p50", "p99"),
        *("CPU per transaction, µs", "Clock, µs", "Lost after, s"),
    )
    return [
        Text(
            text="The numbers at the top are of all workers together: their histograms were added "
            "up, so percentiles are as exact as those of one."
        ),
        Table(
            caption="Clock: by how much it was ahead of this host's, and how exactly that is known",
            columns=columns,
            rows=[
                (
                    worker.name,
                    worker.host,
                    count(worker.clients),
                    count(worker.threads),
                    count(worker.transactions),
                    tps(worker.tps),
                    _p50(worker),
                    _p99(worker),
                    _number(worker.cpu_us_per_transaction),
                    f"{worker.clock_offset_us:+z.0f} ± {worker.clock_bound_us:.0f}",
                    _number(worker.lost_at_s),
                )
                for worker in record.workers
            ],
            numeric=frozenset(range(2, len(columns))),
        ),
        *_over_time(run),
    ]


def _over_time(run: Run) -> Sequence[Block]:
    """Each agent's throughput and p99 over time, and what kept it from working."""
    lines = worker_lines(run)
    if not lines.tps.size:
        return []
    return [
        _figure(run, lines, lines.tps, "throughput"),
        _figure(run, lines, lines.p99_ms, "p99"),
        _own_limits(lines),
    ]


def _figure(run: Run, lines: WorkerLines, values: Matrix, what: str) -> Figure:
    is_ms = what == "p99"
    title = "p99 of the response time" if is_ms else "Committed transactions per second"
    write = milliseconds if is_ms else tps
    middles = [_median(row[lines.is_measured]) for row in values]
    shown = _standing_apart(middles)
    size = -(-values.shape[1] // POINTS_MAX)
    grouped = resample.worst_of if is_ms else resample.mean_of

    def points(of: Matrix) -> list[float | None]:
        return resample.json_numbers(grouped(of, size))

    line = whole_intervals(run)
    begin_s, end_s = span_s(run)
    columns = np.array([_median(column) for column in values.T])
    all_end = ~np.isnan(lines.tps).all(axis=0)
    last = int(np.flatnonzero(all_end)[-1])
    curves = [
        Multiple(lines.names[row], points(values[row]), _end_of(lines, row, last, line))
        for row in shown
    ]
    among = f" Shown are the {len(shown)} of {len(middles)} workers that stand apart most."
    length = seconds(size * _median(line.seconds))
    return Figure(
        id=f"workers-{what}-chart",
        caption=f"{title} of each worker, on one scale; a point is "
        f"{'the worst' if is_ms else 'the mean'} of {length}, dashed is the median of all workers."
        f"{among if len(shown) < len(middles) else ''}",
        summary=_summary(lines, middles, what, write),
        table=Table(
            caption=f"{title}, over the measurement intervals",
            columns=("Worker", "least", "median", "most"),
            rows=[
                (lines.names[row], *_range_of(values[row][lines.is_measured], write))
                for row in range(len(middles))
            ],
            numeric=frozenset({1, 2, 3}),
        ),
        svg=small_multiples(
            Multiples(
                x=resample.mean_of(line.time_s + line.seconds / 2, size).tolist(),
                begin_s=begin_s,
                end_s=end_s,
                curves=curves,
                median=points(columns),
                unit="ms" if is_ms else "tps",
                colour="amber" if is_ms else "blue",
            )
        ),
    )


def _end_of(lines: WorkerLines, row: int, last: int, line: Timeline) -> str:
    """When an agent ended that did before the others."""
    known = np.flatnonzero(~np.isnan(lines.tps[row]))
    if not len(known):
        return "nothing"
    if known[-1] >= last:
        return ""
    return f"until {seconds(float(line.time_s[known[-1]] + line.seconds[known[-1]]))}"


def _standing_apart(middles: Sequence[float]) -> list[int]:
    """The agents to draw, by name: of many those farthest from the median of all."""
    typical = _median(np.array(middles))
    distances = [0.0 if np.isnan(middle) else abs(middle - typical) for middle in middles]
    farthest = sorted(range(len(middles)), key=lambda row: -distances[row])[:SHOWN_MAX]
    return sorted(farthest)


def _summary(
    lines: WorkerLines, middles: Sequence[float], what: str, write: Callable[[float], str]
) -> str:
    known = [(middle, name) for middle, name in zip(middles, lines.names, strict=True)]
    known = [one for one in known if not np.isnan(one[0])]
    if not known:
        return "No worker reported a measured interval."
    (least, of_least), (most, of_most) = min(known), max(known)
    noun = "p99" if what == "p99" else "throughput"
    unit = "" if what == "p99" else " TPS"
    return (
        f"The median {noun} of a worker is between {write(least)}{unit} ({of_least}) and "
        f"{write(most)}{unit} ({of_most})."
    )


def _range_of(values: Matrix, write: Callable[[float], str]) -> tuple[str, str, str]:
    known = values[~np.isnan(values)]
    if not len(known):
        return NOTHING, NOTHING, NOTHING
    return write(float(known.min())), write(_median(known)), write(float(known.max()))


def _median(values: Matrix) -> float:
    known = values[~np.isnan(values)]
    return median(known) if len(known) else math.nan


def _own_limits(lines: WorkerLines) -> Table:
    measured_s = np.maximum(lines.measured_s, 1e-9)
    return Table(
        caption="What each worker did with its time: of one CPU used, and without one that it "
        "wanted, added up over its threads",
        columns=("Worker", "CPU used", "Waited for a CPU", "Stood still, s"),
        rows=[
            (name, percent(cpu), percent(waited), significant(paused_s))
            for name, cpu, waited, paused_s in zip(
                lines.names,
                (lines.cpu_s / measured_s).tolist(),
                (lines.waited_s / measured_s).tolist(),
                lines.paused_s.tolist(),
                strict=True,
            )
        ],
        numeric=frozenset({1, 2, 3}),
    )


def summary(record: RunRecord) -> Sequence[Block]:
    """Each agent alone: the numbers above are of all together."""
    if not record.workers:
        return []
    return [
        Table(
            columns=("worker", "clients", "TPS", "p50", "p99"),
            rows=[
                (
                    worker.name,
                    count(worker.clients),
                    tps(worker.tps),
                    _p50(worker),
                    _p99(worker),
                )
                for worker in record.workers
            ],
            numeric=frozenset({1, 2, 3, 4}),
        )
    ]


def _p50(worker: WorkerRecord) -> str:
    return milliseconds(worker.response_ms.p50 if worker.response_ms else None)


def _p99(worker: WorkerRecord) -> str:
    return milliseconds(worker.response_ms.p99 if worker.response_ms else None)


def _number(value: float | None) -> str:
    return NOTHING if value is None else significant(value)


SECTION = Section(id="workers", title="Workers", build=build, summary=summary)
