"""The final record from the measured data: status, validity, doubts. Pure but for the clock.

The numbers themselves come from ``analysis``.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import metadata

from msgspec.structs import replace

from dbdyno.analysis.waits.disturbance import Disturbance
from dbdyno.databases.adapter import ServerDescription
from dbdyno.databases.connecting import further_urls
from dbdyno.databases.durability import promise_of
from dbdyno.databases.known import all_databases
from dbdyno.explain.statements.misses import Misses
from dbdyno.model.plan import Plan
from dbdyno.model.record import RunRecord, Status
from dbdyno.run.lua.commands import silence_reason
from dbdyno.run.measure import Measured
from dbdyno.run.options import RunOptions
from dbdyno.run.validity import Limits, invalid_reasons
from dbdyno.servers.base import Server


def first_record(
    plan: Plan, work: str, server: Server, description: ServerDescription, options: RunOptions
) -> RunRecord:
    """Return the record as known before the first transaction."""
    promise = promise_of(all_databases()[description.database], description.durability)
    return RunRecord(
        run_id="",  # assigned by the run folder
        status="running",
        started_at=datetime.now(UTC).isoformat(timespec="seconds"),
        workload=work,
        target=server.url,
        further_targets=further_urls(server.endpoint()),
        server={
            "kind": server.kind,
            "product": description.product,
            "version": description.version,
            "promise": None if "durability" in description.unreadable else promise,
            "durability": description.durability,
        },
        seed=plan.seed,
        dbdyno_version=metadata.version("dbdyno"),
        tags=dict(options.tags),
        telemetry={"level": options.telemetry},
    )


def with_validity(  # noqa: PLR0913 - everything that a verdict rests on
    summary: RunRecord,
    plan: Plan,
    measured: Measured,
    *,
    script_failure: str | None,
    limits: Limits,
    violations: Sequence[str],
    disturbance: Disturbance | None,
    misses: Misses,
    doubts: Sequence[str],
) -> RunRecord:
    """Return the summary with its verdict; ``doubts`` follow those of the summary.

    ``script_failure`` says why what a sysbench script does once after the events failed.
    """
    if measured.done is None:
        reasons = [_no_end(plan, measured)]
    else:
        reasons = invalid_reasons(
            plan, measured.done, limits=limits, violations=violations, disturbance=disturbance
        )
    reasons = [*reasons, *misses.invalid_reasons]
    if script_failure is not None:
        reasons = [*reasons, script_failure]
    return replace(
        summary,
        status=_status(measured, script_failure),
        valid=not reasons,
        invalid_reasons=reasons,
        doubts=[*misses.doubts, *summary.doubts, *doubts],
    )


def _no_end(plan: Plan, measured: Measured) -> str:
    """Return why the engine reported no end."""
    if measured.was_silent:
        return _silence_reason(plan)
    if measured.failed is not None:
        return f"the engine gave up: {measured.failed.message}"
    if measured.was_interrupted:
        return "the run was interrupted, and ended at once when it was interrupted again"
    return "the engine ended before the run did"


def _silence_reason(plan: Plan) -> str:
    if plan.lua is None:
        return "the engine fell silent and was ended"
    return silence_reason(plan)


def _status(measured: Measured, script_failure: str | None) -> Status:
    if measured.was_interrupted:
        return "interrupted"
    if script_failure is not None:
        return "failed"
    return "done" if measured.done and measured.done.end == "complete" else "failed"
