"""Computes the numbers of a run's record from what its folder contains.

Also for a run that was interrupted: its counters are those of the last interval, and its
percentiles those of the complete windows.
"""

import math
from collections.abc import Iterable
from typing import Any

import msgspec

from dbdyno.analysis.doubts import Facts, find_doubts
from dbdyno.analysis.events.checkpoint_events import missing_cycle
from dbdyno.analysis.series.distributions import (
    is_measured,
    latency,
    sample_count,
    total_histogram,
)
from dbdyno.analysis.series.planned_load import is_open_loop, without_stage_means
from dbdyno.analysis.series.readings import was_read
from dbdyno.analysis.series.stages import stages_of
from dbdyno.analysis.series.steadiness import unasked_shift
from dbdyno.analysis.series.timeline import Timeline, completed, timeline
from dbdyno.analysis.statistics.estimate import SAMPLES_MIN, Series, estimate_mean, median
from dbdyno.analysis.waits.arrivals import arrivals
from dbdyno.analysis.waits.budget import foreign_of_work
from dbdyno.analysis.waits.disturbance import disturbance, throttled_shares
from dbdyno.analysis.waits.session_samples import unsampled_s
from dbdyno.model.counters import Machine
from dbdyno.model.frame import FailureCount
from dbdyno.model.plan import Script
from dbdyno.model.record import (
    ClientCost,
    CopyRecord,
    FailureRecord,
    RunRecord,
    ScriptRecord,
    StatementRecord,
    Throughput,
    TransactionCounts,
)
from dbdyno.model.run import Run, once
from dbdyno.model.tables import rows


def summarize(run: Run) -> RunRecord:
    """Return the record with every measured number and doubt; status and validity are unchanged."""
    over_time = timeline(run)
    measured = over_time.measured()
    duration_s = _duration_s(run, over_time)
    counts = _transactions(run)
    throughput = _throughput(run, measured, duration_s)
    response_ms = latency(run, "script_response")
    facts = Facts(
        duration_s=duration_s,
        interval_s=median(over_time.seconds) if len(over_time.seconds) else 1.0,
        shift=unasked_shift(run.plan, measured.tps),
        throughput=throughput,
        transactions=counts,
        unfinished_ages_s=_unfinished_ages_s(run),
        arrivals=arrivals(run, duration_s),
        has_percentiles=response_ms is not None,
        missing_cycle=missing_cycle(run),
        unsampled_s=unsampled_s(run),
        paused_s=_paused_s(run),
        mean_response_s=response_ms.mean / 1e3 if response_ms else 0.0,
        foreign_of_work=foreign_of_work(run),
        disturbance=disturbance(run, duration_s),
        is_observed=was_read(run, Machine.source) or not run.record.telemetry,
        throttled=_throttled(run, duration_s),
        unreadable=run.server.unreadable,
    )
    return msgspec.structs.replace(
        run.record,
        duration_s=duration_s,
        stages=stages_of(run.plan, measured),
        scripts=_scripts(run),
        transactions=counts,
        failures=_failures(run),
        tried_again=_of_engine(run, run.engine.done.tried_again) if run.engine.done else [],
        throughput_tps=throughput,
        copy_in=_copied(run, "copy_in", duration_s),
        copy_out=_copied(run, "copy_out", duration_s),
        response_ms=response_ms,
        service_ms=latency(run, "script_service") or response_ms,
        statements=_statements(run),
        client=ClientCost(cpu_us_per_transaction=_client_cpu_us(run)),
        doubts=find_doubts(facts),
    )


@once
def full_record(run: Run) -> RunRecord:
    """Return the record as it is, or for an unfinished run with the numbers so far."""
    if run.record.throughput_tps is not None:
        return run.record
    return summarize(run)


def has_its_rate(run: Run) -> bool:
    """Whether transactions arrived at a given rate, and the server sustained it."""
    duration_s = full_record(run).duration_s
    if not is_open_loop(run.plan) or not duration_s:
        return False
    return not arrivals(run, duration_s).overran


def _duration_s(run: Run, over_time: Timeline) -> float:
    if run.engine.done:
        return run.engine.done.measured_ns / 1e9
    return float(over_time.seconds[over_time.phase == "measure"].sum())


def _unfinished_ages_s(run: Run) -> list[float]:
    done = run.engine.done
    return [age_ns / 1e9 for age_ns in done.unfinished_ages_ns] if done else []


def _transactions(run: Run) -> TransactionCounts:
    return TransactionCounts(**counted(run, TransactionCounts.__struct_fields__))


def counted(run: Run, names: Iterable[str]) -> dict[str, int]:
    """The engine's last counts of these names."""
    if run.engine.done:
        return {name: getattr(run.engine.done.counters, name) for name in names}
    last = {name: getattr(run.intervals, name)[-1:].tolist() for name in names}
    return {name: found[0] if found else 0 for name, found in last.items()}


def _copied(run: Run, direction: str, duration_s: float) -> CopyRecord | None:
    counts = counted(run, (f"{direction}_rows", f"{direction}_bytes"))
    if not duration_s or not any(counts.values()):
        return None
    rows_copied, bytes_copied = counts.values()
    return CopyRecord(
        rows=rows_copied,
        bytes=bytes_copied,
        rows_per_s=rows_copied / duration_s,
        bytes_per_s=bytes_copied / duration_s,
    )


def _throughput(run: Run, measured: Timeline, duration_s: float) -> Throughput:
    """The value is completed / time, exactly; the interval comes from the samples.

    It uses the variation around the mean of each stage: differences between stages are planned.
    There is none for fewer than five transactions, however many samples saw nothing; and as a
    measurement begins and ends within transactions, it reaches at least one of them to either side.
    """
    transactions = completed(run)
    value = transactions / duration_s if duration_s else 0.0
    tps = measured.tps
    scattered = without_stage_means(run.plan, measured.time_s, tps)
    mean = estimate_mean(scattered) if transactions >= SAMPLES_MIN else None
    half = max(mean.high - mean.value, 1 / duration_s) if mean else 0.0
    return Throughput(
        value=value,
        low=max(value - half, 0.0) if mean else None,
        high=value + half if mean else None,
        min=float(tps.min()) if len(tps) else None,
        max=float(tps.max()) if len(tps) else None,
        samples=len(tps),
        samples_effective=mean.samples_effective if mean else None,
        coefficient_of_variation=_variation(scattered),
    )


def _variation(series: Series) -> float | None:
    """Standard deviation / mean."""
    if len(series) < 2 or not series.mean():
        return None
    return float(series.std(ddof=1) / series.mean())


def _failures(run: Run) -> list[FailureRecord]:
    """Counts are cumulative, so the last interval that names a class and code has the total.

    The table of the intervals has no statements: they are known once the run is done.
    """
    if run.engine.done:
        return _of_engine(run, run.engine.done.failures)
    seen = run.failures
    columns = (seen.failure_class, seen.code, seen.count, seen.message)
    last = {
        (kind, code): FailureRecord(failure_class=kind, code=code, count=count, message=message)
        for kind, code, count, message in rows(*columns)
    }
    return list(last.values())


def _of_engine(run: Run, reported: Iterable[FailureCount]) -> list[FailureRecord]:
    """What the engine reported about failures at the end of the run."""
    texts = dict(rows(run.statement_texts.statement, run.statement_texts.sql))
    return [
        FailureRecord(
            failure_class=one.failure_class,
            code=one.code,
            count=one.count,
            message=one.message,
            statement="" if one.statement is None else texts.get(one.statement, ""),
            took_s=one.took_ns / 1e9,
        )
        for one in reported
    ]


def script_names(run: Run) -> list[str]:
    """The names of the plan's scripts, in order."""
    return [script.name for script in run.plan.scripts]


def _scripts(run: Run) -> list[ScriptRecord]:
    planned = run.plan.scripts
    return [_script(run, number, plan) for number, plan in enumerate(planned)]


def _script(run: Run, number: int, planned: Script) -> ScriptRecord:
    response_ms = latency(run, "script_response", number)
    return ScriptRecord(
        name=planned.name,
        weight=planned.weight,
        **_script_counts(run, number),
        response_ms=response_ms,
        service_ms=latency(run, "script_service", number) or response_ms,
    )


def _script_counts(run: Run, number: int) -> dict[str, int]:
    """Counts over the measured intervals; those of the warm-up are excluded."""
    scripts = run.scripts
    wanted = (scripts.script == number) & is_measured(run, scripts)
    return {
        name: int(getattr(scripts, name)[wanted].sum())
        for name in ("ok", "committed", "failed", "skipped")
    }


def _statements(run: Run) -> list[StatementRecord]:
    scripts = run.plan.scripts
    seen = run.statement_texts
    columns = (seen.statement, seen.script, seen.index, seen.sql, seen.connection, seen.server)
    return [
        StatementRecord(
            script=scripts[script].name,
            index=index,
            sql=sql,
            as_text=scripts[script].as_text.get(str(index), ""),
            **_rows_touched(run, number),
            connection=connection,
            server=server,
            **_times(run, number),
        )
        for number, script, index, sql, connection, server in rows(*columns)
    ]


def _rows_touched(run: Run, statement: int) -> dict[str, Any]:
    """The rows of a statement's measured executions, by the field names of its record."""
    statements = run.statements
    wanted = (statements.statement == statement) & is_measured(run, statements)
    sums = {
        name: float(getattr(statements, name)[wanted].sum())
        for name in ("rows", "executions_without_rows")
    }
    return {name: None if math.isnan(value) else int(value) for name, value in sums.items()}


def _times(run: Run, statement: int) -> dict[str, Any]:
    """Count and latencies of a statement, by the field names of its record."""
    histogram = total_histogram(run, "statement", statement)
    found = latency(run, "statement", statement)
    return {
        "count": sample_count(histogram, run.histograms) if histogram else 0,
        **{f"{name}_ms": getattr(found, name, None) for name in ("mean", "p50", "p95", "p99")},
    }


def _client_cpu_us(run: Run) -> float | None:
    done, transactions = run.engine.done, completed(run)
    return done.cpu_us / transactions if done and transactions else None


def _throttled(run: Run, duration_s: float) -> dict[str, float]:
    """The shares of throttled time that the run did not ask for."""
    return {
        who: share
        for who, share in (throttled_shares(run, duration_s) if duration_s else {}).items()
        if who != "server" or "server-cores" not in run.server.placement.asked
    }


def _paused_s(run: Run) -> float:
    """For how long the load generator stood still while it measured."""
    intervals = run.intervals
    return float(intervals.paused_us[intervals.phase == "measure"].sum() / 1e6)
