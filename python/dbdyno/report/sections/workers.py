"""The agents that shared the load, each beside the others."""

from collections.abc import Sequence

from dbdyno.explain.explain import explained_record
from dbdyno.formatting import NOTHING, count, milliseconds, significant, tps
from dbdyno.model.record import RunRecord, WorkerRecord
from dbdyno.model.run import Run
from dbdyno.report.content import Block, Section, Table, Text


def build(run: Run) -> Sequence[Block]:
    """A row for each agent, and how far their clocks are apart."""
    record = explained_record(run)
    if not record.workers:
        return []
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
    ]


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
