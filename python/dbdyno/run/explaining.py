"""Explains a recorded run: adds costs, findings, and the cost of telemetry itself to its record.

This happens after measuring and must not endanger the results: if anything fails here, the numbers
stay as they are, and that is reported.
"""

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from dbdyno.analysis.costs import cost, costs
from dbdyno.analysis.readings import Span, total
from dbdyno.analysis.timeline import completed
from dbdyno.explain.explain import explain
from dbdyno.model.record import RunRecord
from dbdyno.model.recording import Histograms, Recording, rows

CPU_TIMES = ("user_us", "system_us")


def explained(
    recording: Recording, histograms: Histograms, report: Callable[[str], None]
) -> RunRecord:
    """Return the recording's record with its explanation."""
    record = replace(recording.record, telemetry=telemetry_record(recording))
    try:
        found = costs(recording)
        cpu_us = cost(found, "server_cpu_us") or _cpu_us_over_all(recording)
        server = {**record.server, "cpu_us_per_transaction": cpu_us}
        record = replace(record, costs=found, server=server)
        explanation = explain(replace(recording, record=record), histograms)
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


def _cpu_us_over_all(recording: Recording) -> float | None:
    """The server's CPU time per transaction, used if readings cover no interval."""
    transactions, span = completed(recording), Span(0.0, recording.record.duration_s)
    spent = [total(recording, "processes", name, "server", span) for name in CPU_TIMES]
    if not transactions or None in spent:
        return None
    return sum(filter(None, spent)) / transactions


def telemetry_record(recording: Recording) -> dict[str, Any]:
    """Return how closely the run was watched, what that cost, and what could not be observed."""
    lacks = rows(recording.tables["lacks"], ("source", "reason"))
    return {
        **recording.record.telemetry,
        **recording.engine.get("telemetry", {}),
        "lacks": [{"source": source, "reason": reason} for source, reason in lacks],
    }
