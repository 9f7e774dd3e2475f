"""The metrics by which runs are compared: one home for their ids.

Throughput, what COPY moved, response times, and costs per transaction. Costs of single scripts are
not included: they are parts of these.
"""

from collections.abc import Iterator

from dbdyno.analysis.cost_amounts import COST_IDS
from dbdyno.model.comparison import Metric
from dbdyno.model.record import CostRecord, RunRecord

THROUGHPUT = "throughput_tps"
RESPONSES = {
    "response_mean_ms": ("mean", "Mean response time"),
    "response_p50_ms": ("p50", "Median response time"),
    "response_p95_ms": ("p95", "95th percentile of response times"),
    "response_p99_ms": ("p99", "99th percentile of response times"),
}
COPIES = {
    "copy_in_rows_per_s": ("copy_in", "rows_per_s", "Rows copied to the server", "rows/s"),
    "copy_in_bytes_per_s": ("copy_in", "bytes_per_s", "Bytes copied to the server", "B/s"),
    "copy_out_rows_per_s": ("copy_out", "rows_per_s", "Rows copied from the server", "rows/s"),
    "copy_out_bytes_per_s": ("copy_out", "bytes_per_s", "Bytes copied from the server", "B/s"),
}

KNOWN = (THROUGHPUT, *COPIES, *RESPONSES, *sorted(COST_IDS))
"""Every id; a run has those that its server and its telemetry reported."""

USUAL = (THROUGHPUT, *COPIES, "response_p95_ms", "response_p99_ms", "server_cpu_us", "wal_bytes")
"""Compared by default. Few, because each further metric makes all harder to distinguish (Holm)."""


def metrics_of(record: RunRecord) -> dict[str, Metric]:
    """Every metric that was measured in this run, by its id."""
    found = [*_throughput(record), *_copies(record), *_responses(record), *_costs(record)]
    return {metric.id: metric for metric in found}


def is_cost(name: str) -> bool:
    """Whether a metric is a cost per transaction, which hardly varies with noise."""
    return name not in (THROUGHPUT, *COPIES, *RESPONSES)


def single_run_decides(name: str) -> bool:
    """Whether a metric is a cost that only the work determines, so that one run is enough.

    The number of context switches depends on whatever else wants a CPU: it varies between runs far
    more than within one.
    """
    return is_cost(name) and not name.endswith("voluntary_switches")


def _throughput(record: RunRecord) -> Iterator[Metric]:
    found = record.throughput_tps
    if found is not None:
        yield Metric(
            id=THROUGHPUT,
            title="Throughput",
            unit="TPS",
            better="higher",
            value=found.value,
            low=found.low,
            high=found.high,
        )


def _copies(record: RunRecord) -> Iterator[Metric]:
    for name, (direction, field, title, unit) in COPIES.items():
        if copied := getattr(record, direction):
            value: float = getattr(copied, field)
            yield Metric(id=name, title=title, unit=unit, better="higher", value=value)


def _responses(record: RunRecord) -> Iterator[Metric]:
    if record.response_ms is None:
        return
    for name, (field, title) in RESPONSES.items():
        value: float = getattr(record.response_ms, field)
        yield Metric(id=name, title=title, unit="ms", better="lower", value=value)


def _costs(record: RunRecord) -> Iterator[Metric]:
    return (_of_cost(cost) for cost in record.costs if not cost.script)


def _of_cost(cost: CostRecord) -> Metric:
    """Every cost is better when it is lower: each is per transaction."""
    whose = " of the client" if cost.side == "client" and "Engine" not in cost.title else ""
    return Metric(
        id=cost.id,
        title=f"{cost.title}{whose}",
        unit=f"{cost.unit} per transaction".strip(),
        better="lower",
        value=cost.value,
        low=cost.low,
        high=cost.high,
    )
