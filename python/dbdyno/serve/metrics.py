"""The runs that go on as metrics, in the text of OpenMetrics.

Totals only rise, so that a reader who misses some readings loses no transaction; what is of one
instant is that of the last measurement interval.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from msgspec import Struct

from dbdyno.analysis.waits.wait_bands import bands
from dbdyno.model.run import Run
from dbdyno.serve.intervals import IntervalResult, intervals_of

MEDIA_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"
_QUANTILES = (("0.5", "p50_ms"), ("0.95", "p95_ms"), ("0.99", "p99_ms"), ("1", "max_ms"))
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})


class Family(Struct, frozen=True):
    """Metrics of one name."""

    name: str
    kind: Literal["counter", "gauge", "info"]
    meaning: str
    unit: str = ""


RUN = Family("dbdyno_run", "info", "What is run, and on what.")
TRANSACTIONS = Family("dbdyno_transactions", "counter", "Transactions that ended, by outcome.")
RETRIES = Family("dbdyno_retries", "counter", "Tries of transactions after the first.")
CPU = Family(
    "dbdyno_generator_cpu_seconds", "counter", "CPU time of the load generator.", "seconds"
)
RATE = Family("dbdyno_transactions_per_second", "gauge", "Committed in the last interval.")
RESPONSE = Family(
    "dbdyno_response_seconds", "gauge", "Response times of the last interval.", "seconds"
)
IN_FLIGHT = Family("dbdyno_in_flight", "gauge", "Transactions in flight.")
BACKLOG = Family("dbdyno_backlog", "gauge", "Transactions that are due and not started.")
CLIENTS = Family("dbdyno_clients", "gauge", "Clients by what they wait for, sampled.")
FAMILIES = (RUN, TRANSACTIONS, RETRIES, CPU, RATE, RESPONSE, IN_FLIGHT, BACKLOG, CLIENTS)
_SUFFIX = {"counter": "_total", "gauge": "", "info": "_info"}


class _Sample(Struct, frozen=True):
    family: Family
    value: float
    labels: Mapping[str, str] = {}


def exposition(runs: Iterable[Run]) -> str:
    """The metrics of these runs, as a scraper reads them."""
    found = [(run.record.run_id, sample) for run in runs for sample in _samples(run)]
    lines = []
    for family in FAMILIES:
        lines.append(f"# TYPE {family.name} {family.kind}")
        if family.unit:
            lines.append(f"# UNIT {family.name} {family.unit}")
        lines.append(f"# HELP {family.name} {family.meaning}")
        for run_id, sample in found:
            if sample.family is family:
                labels = ",".join(
                    f'{name}="{value.translate(_ESCAPES)}"'
                    for name, value in {"run": run_id, **sample.labels}.items()
                )
                lines.append(f"{family.name}{_SUFFIX[family.kind]}{{{labels}}} {sample.value!r}")
    return "\n".join([*lines, "# EOF", ""])


def _samples(run: Run) -> Iterator[_Sample]:
    record, table = run.record, run.intervals
    about = {"workload": record.workload, "server": str(record.server.get("title") or "")}
    yield _Sample(RUN, 1, about)
    for outcome, ended in (
        ("committed", table.completed_committed),
        ("rolled_back", table.completed_ok - table.completed_committed),
        ("failed", table.completed_failed),
    ):
        yield _Sample(TRANSACTIONS, int(ended.sum()), {"outcome": outcome})
    yield _Sample(RETRIES, int(table.retries[-1]) if len(table) else 0)
    yield _Sample(CPU, float(table.cpu_us.sum()) / 1e6)
    if len(table):
        (last,) = intervals_of(run, int(table.interval[-1]) - 1).intervals
        yield from _of_interval(last)
        for kind, sessions in bands(run).sessions.items():
            if sessions[-1] == sessions[-1]:  # not sampled in this interval: NaN
                yield _Sample(CLIENTS, float(sessions[-1]), {"state": kind})


def _of_interval(last: IntervalResult) -> Iterator[_Sample]:
    yield _Sample(RATE, last.tps)
    for quantile, name in _QUANTILES:
        ms = getattr(last, name)
        if ms is not None:
            yield _Sample(RESPONSE, ms / 1000, {"quantile": quantile})
    yield _Sample(IN_FLIGHT, last.in_flight)
    yield _Sample(BACKLOG, last.waiting)
