"""Explains a recorded run: adds costs, findings, and the cost of telemetry itself to its record.

This happens after measuring and must not endanger the results: if anything fails here, the numbers
stay as they are, and that is reported.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from dbdyno.analysis.costs.costs import cost, costs
from dbdyno.analysis.series.readings import Span, total
from dbdyno.analysis.series.timeline import completed
from dbdyno.explain.explain import explain
from dbdyno.model.counters import Processes
from dbdyno.model.record import RunRecord
from dbdyno.model.run import Run
from dbdyno.model.tables import rows

CPU_TIMES = (Processes.user_us, Processes.system_us)


def explained(recording: Run, report: Callable[[str], None]) -> RunRecord:
    """Return the recording's record with its explanation."""
    record = replace(recording.record, telemetry=telemetry_record(recording))
    try:
        found = costs(recording)
        cpu_us = cost(found, "server_cpu_us") or _cpu_us_over_all(recording)
        server = {**record.server, "cpu_us_per_transaction": cpu_us}
        record = replace(record, costs=found, server=server)
        explanation = explain(dataclasses.replace(recording, record=record))
    except Exception as error:  # a defect in dbdyno must not lose a measured run
        report(f"the run could not be explained: {type(error).__name__}: {error}")
        return record
    return replace(
        record,
        findings=explanation.findings,
        not_looked=explanation.not_looked,
        unexplained=explanation.unexplained,
        unexplained_as=explanation.unexplained_as,
    )


def _cpu_us_over_all(recording: Run) -> float | None:
    """The server's CPU time per transaction, used if readings cover no interval."""
    transactions, span = completed(recording), Span(0.0, recording.record.duration_s)
    spent = [total(recording, counter, "server", span) for counter in CPU_TIMES]
    if not transactions or None in spent:
        return None
    return sum(filter(None, spent)) / transactions


def telemetry_record(recording: Run) -> dict[str, Any]:
    """Return how closely the run was watched, what that cost, and what could not be observed."""
    lacks = rows(recording.lacks.source, recording.lacks.reason)
    return {
        **recording.record.telemetry,
        **recording.as_recorded.engine.get("telemetry", {}),
        "lacks": [{"source": source, "reason": reason} for source, reason in lacks],
    }
