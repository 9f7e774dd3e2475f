"""Concludes a run: its numbers, the verdict on them, and their explanation make the final record.

Everything is read back from the run folder, as every later reader finds it. The explanation comes
last and must not endanger the results: if anything fails there, the numbers stay as they are, and
that is reported.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace as with_record
from pathlib import Path

from msgspec.structs import replace

from dbdyno.analysis.costs.costs import cost, costs
from dbdyno.analysis.doubts import SHARED_HOST, kind_of, unlent_sessions, unmet_demands
from dbdyno.analysis.events.recovery import loses_too_much, with_recovery
from dbdyno.analysis.processor.profile import server_processes, server_profile
from dbdyno.analysis.series.planned_load import paced_rate_max
from dbdyno.analysis.series.readings import Span, total
from dbdyno.analysis.series.timeline import completed
from dbdyno.analysis.series.totals import scripts_rate
from dbdyno.analysis.standbys import with_lag
from dbdyno.analysis.summarize import summarize
from dbdyno.analysis.waits.disturbance import disturbance
from dbdyno.analysis.waits.processor_time import CPU_TIMES
from dbdyno.analysis.workers import (
    host_effects,
    starved_workers,
    worker_doubts,
    worker_records,
)
from dbdyno.databases.durability import meaning, why_no_promise
from dbdyno.explain.explain import explain
from dbdyno.explain.statements.misses import find_misses
from dbdyno.formatting import count, counted, milliseconds, size
from dbdyno.host.disk import free_bytes
from dbdyno.model.database import Promise
from dbdyno.model.record import FailoverRecord, RateRecord, RunRecord
from dbdyno.model.run import Histograms, Run
from dbdyno.model.tables import rows
from dbdyno.run.connected_server import ConnectedServer
from dbdyno.run.invariants import Excused
from dbdyno.run.job import Job
from dbdyno.run.measure import Measured
from dbdyno.run.network_delay.way import SlowWay
from dbdyno.run.placement import placement_doubts
from dbdyno.run.readiness import Ready
from dbdyno.run.verdict import Evidence, meant_table
from dbdyno.store.run import RunFolder
from dbdyno.store.writer import RunWriter
from dbdyno.workloads.audit import audited

ROOM_MIN_BYTES = 16 * 2**20
"""The size of PostgreSQL's WAL files. InnoDB's tables grow by a quarter of that."""
FOLLOWED = "by its settings, a commit waits until the standby has received it"


@dataclass(frozen=True, kw_only=True)
class EndedRun:
    """A run whose load has ended, with its folder."""

    job: Job
    connected: ConnectedServer
    ready: Ready
    measured: Measured
    script_failure: str | None
    writer: RunWriter
    way: SlowWay | None

    def conclude(self, histograms: Histograms, report: Callable[[str], None]) -> Run:
        """Finish the record; return the recording with it."""
        watch, done = self.ready.watch, self.measured.done
        isolation = self.ready.record.isolation
        level = isolation.level if isolation else None
        promise, failovers = self.ready.record.server["promise"], self.measured.failovers
        violations = (
            watch.violations(
                self.connected,
                done,
                level,
                excused=excused_by(promise, failovers),
                has_lost_worker=any(part.lost_at_s is not None for part in self.measured.workers),
            )
            if watch and done
            else []
        )
        violations += broken_promises(promise, failovers)
        recording = RunFolder(self.writer.folder).load(histograms)
        record = self.judged(recording, violations)
        complete = with_record(recording, record=record)
        self.writer.finish(with_record(complete, record=explained(complete, report)))
        # The same tables, with the record as it was written.
        return with_record(recording, record=self.writer.record)

    def judged(self, recording: Run, violations: list[str]) -> RunRecord:
        """Return the record with the numbers and the verdict on them."""
        options, watch = self.job.options, self.ready.watch
        summary = self.with_demands(summarize(recording), recording)
        parts = self.measured.workers
        workers = worker_records(recording, parts)
        evidence = Evidence(
            plan=self.ready.plan,
            measured=self.measured,
            violations=violations,
            disturbance=disturbance(recording),
            misses=find_misses(recording, self.job.work.misses_allowed(self.ready.values)),
            script_failure=self.script_failure,
            failures_max=options.failures_max,
            disturbance_max=options.disturbance_max,
        )
        reasons = evidence.invalid_reasons
        full = full_disk(self.connected.server.data_directory) if reasons else ""
        codes = self.connected.target.disk_full_codes
        is_full = any(failure.code in codes for failure in summary.failures)
        tables = recording.schema.tables if recording.schema else ()
        # By how much they took CPU time from each other says more than that they could.
        has_shared_host = SHARED_HOST in map(kind_of, summary.doubts)
        unpromised = why_no_promise(self.connected.database, summary.server["durability"])
        # A takeover is judged by other settings than those that promise something here.
        events = [one.event for one in self.measured.failovers]
        unjudged = [one for one in events if unpromised and not one.startswith("promote")]
        meant = self._mistaken_server(summary) or meant_table(reasons, tables)
        return replace(
            summary,
            status=evidence.status,
            valid=not reasons,
            invalid_reasons=[*reasons, *filter(None, (full, meant))],
            disk_full=bool(reasons) and (bool(full) or is_full),
            doubts=[
                *evidence.misses.doubts,
                *summary.doubts,
                *(watch.doubts if watch else []),
                *(self.way.doubts() if self.way else []),
                *worker_doubts(parts),
                *host_effects(self.ready.plan, parts, workers),
                *starved_workers(recording, workers),
                *(
                    f"event failed: {one.event}: {one.error}"
                    for one in self.measured.failovers
                    if one.error
                ),
                *(
                    f"losses not known: the data could not be read after {one.event}"
                    for one in self.measured.failovers
                    if one.lost is None
                ),
                *(
                    f"commits lost: {one.event} lost {count(one.lost)} of "
                    f"{count(one.acknowledged)} acknowledged commits, and nothing was promised"
                    for one in self.measured.failovers
                    if one.lost and one.loss_allowed_ms is None
                ),
                *unlent_sessions(summary),
                *(f"promise not known: what {one} may lose: {unpromised}" for one in unjudged[:1]),
                *unmet_demands(summary.audit),
                *([] if has_shared_host else placement_doubts(self.connected.server, options)),
            ],
            invariants_read=watch.read if watch else [],
            checks=watch.checks if watch else [],
            network_delay=self.way.record() if self.way else None,
            workers=workers,
            failovers=with_recovery(recording, self.measured.failovers),
            standbys=with_lag(recording, self.measured.standbys),
        )

    def with_demands(self, summary: RunRecord, recording: Run) -> RunRecord:
        """Return the record with the workload's metrics, and how the run met its demands."""
        workload, done = self.job.work.workload, self.measured.done
        if workload is None or done is None or not self.job.work.is_the_workloads_alone:
            return summary
        groups, demands = recording.plan.groups, workload.demands(self.ready.values)
        mixed = groups[0].scripts if groups else None
        audit = audited(demands, done.counted, summary.scripts, mixed)
        number_of = {script.name: number for number, script in enumerate(summary.scripts)}
        rates: dict[str, RateRecord] = {}
        efficiency = None
        for metric in workload.metrics:
            if not number_of.keys() >= set(metric.scripts):
                continue
            numbers = [number_of[name] for name in metric.scripts]
            committed = [number_of[name] for name in metric.committed]
            rate = scripts_rate(recording, numbers, metric.seconds, committed)
            rates[metric.field] = rate
            if per_s := paced_rate_max(recording.plan, numbers):
                efficiency = rate.value / metric.seconds / per_s
        return replace(summary, audit=audit, counted=done.counted, efficiency=efficiency, **rates)

    def _mistaken_server(self, summary: RunRecord) -> str | None:
        """Return that the scripts ran where nothing was, if none of them ever worked."""
        done, counted = self.measured.done, summary.transactions
        is_hopeless = done is not None and done.end == "aborted"
        if not is_hopeless or not self.job.is_on_empty_server or (counted and counted.ok):
            return None
        return "the server was new and empty: name the one that has your tables with --target"


def excused_by(promise: Promise | None, failovers: Sequence[FailoverRecord]) -> Excused:
    """Return what the events may have done to the data by what the settings promise."""
    if all(one.loss_allowed_ms == 0 for one in failovers):
        return "nothing"
    return "anything" if promise in {None, "none"} else "missing commits"


def broken_promises(promise: Promise | None, failovers: Sequence[FailoverRecord]) -> list[str]:
    """Return which events lost commits that the settings do not allow to be lost."""
    broken = []
    for one in filter(loses_too_much, failovers):
        if one.event.startswith("promote:"):
            promised = FOLLOWED
        elif promise and (promise == "full" or one.loss_allowed_ms):
            window = milliseconds(one.loss_allowed_ms)
            promised = f"durability {promise} promises that {meaning(promise, window)}"
        else:
            promised = "at any durability, only a crash may lose commits"
        broken.append(
            f"{one.event} lost {counted(one.lost or 0, 'acknowledged commit')}, of up to "
            f"{milliseconds(one.lost_ms)} before: {promised}"
        )
    return broken


def full_disk(folder: Path | None) -> str:
    """Return that the disk of a server's data is full; nothing if there is room, or it is unknown.

    Some servers answer nothing any more, and others that a table is full.
    """
    if folder is None or (free := free_bytes(folder)) >= ROOM_MIN_BYTES:
        return ""
    return f"the disk of the server's data is full: {size(free)} are left for {folder}"


def explained(recording: Run, report: Callable[[str], None]) -> RunRecord:
    """Return the recording's record with costs, findings, and the cost of telemetry itself."""
    lacks = rows(recording.lacks.source, recording.lacks.reason)
    engine = recording.as_recorded.engine
    telemetry = {
        **recording.record.telemetry,
        **engine.get("telemetry", {}),
        **({"profile": engine["profile"]} if "profile" in engine else {}),
        "lacks": [{"source": source, "reason": reason} for source, reason in lacks],
    }
    record = replace(recording.record, telemetry=telemetry)
    try:
        found = costs(recording)
        cpu_us = cost(found, "server_cpu_us") or _cpu_us_over_all(recording)
        server = {**record.server, "cpu_us_per_transaction": cpu_us}
        record = replace(
            record,
            costs=found,
            server=server,
            server_processes=server_processes(recording),
            server_profile=server_profile(recording),
        )
        explanation = explain(with_record(recording, record=record))
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
