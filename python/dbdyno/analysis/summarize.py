"""Computes the numbers of a run's record from its recording.

Also for a run that was interrupted: its counters are those of the last interval, and its
percentiles those of the complete windows.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from dbdyno.analysis.arrivals import arrivals
from dbdyno.analysis.budget import foreign_of_work
from dbdyno.analysis.checkpoint_cycle import missing_cycle
from dbdyno.analysis.distributions import (
    is_measured,
    latency,
    sample_count,
    total_histogram,
)
from dbdyno.analysis.disturbance import disturbance, throttled_shares
from dbdyno.analysis.doubts import Facts, find_doubts
from dbdyno.analysis.estimate import SAMPLES_MIN, Series, estimate_mean
from dbdyno.analysis.medians import median
from dbdyno.analysis.planned_load import without_stage_means
from dbdyno.analysis.readings import was_read
from dbdyno.analysis.session_samples import unsampled_s
from dbdyno.analysis.stages import stages_of
from dbdyno.analysis.steadiness import unasked_shift
from dbdyno.analysis.timeline import Timeline, completed, timeline
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
from dbdyno.model.recording import Histograms, Recording, rows


def summarize(recording: Recording, histograms: Histograms) -> RunRecord:
    """Return the record with every measured number and doubt; status and validity are unchanged."""
    over_time = timeline(recording)
    measured = over_time.measured()
    duration_s = _duration_s(recording, over_time)
    counts = _transactions(recording)
    throughput = _throughput(recording, measured, duration_s)
    response_ms = latency(recording, histograms, "script_response")
    facts = Facts(
        duration_s=duration_s,
        interval_s=median(over_time.seconds) if len(over_time.seconds) else 1.0,
        shift=unasked_shift(recording.plan, measured.tps),
        throughput=throughput,
        transactions=counts,
        unfinished_ages_s=_unfinished_ages_s(recording),
        arrivals=arrivals(recording, duration_s),
        has_percentiles=response_ms is not None,
        missing_cycle=missing_cycle(recording),
        unsampled_s=unsampled_s(recording),
        paused_s=_paused_s(recording),
        mean_response_s=response_ms.mean / 1e3 if response_ms else 0.0,
        foreign_of_work=foreign_of_work(recording),
        disturbance=disturbance(recording, duration_s),
        is_observed=was_read(recording, "machine") or not recording.record.telemetry,
        throttled=_throttled(recording, duration_s),
        unreadable=recording.server.get("unreadable", ()),
    )
    return msgspec.structs.replace(
        recording.record,
        duration_s=duration_s,
        stages=stages_of(recording.plan, measured),
        scripts=_scripts(recording, histograms),
        transactions=counts,
        failures=_failures(recording),
        tried_again=_of_engine(recording, "tried_again"),
        throughput_tps=throughput,
        copy_in=_copied(recording, "copy_in", duration_s),
        copy_out=_copied(recording, "copy_out", duration_s),
        response_ms=response_ms,
        service_ms=latency(recording, histograms, "script_service") or response_ms,
        statements=_statements(recording, histograms),
        client=ClientCost(cpu_us_per_transaction=_client_cpu_us(recording)),
        doubts=find_doubts(facts),
    )


def full_record(recording: Recording, histograms: Histograms) -> RunRecord:
    """Return the record as it is, or for an unfinished run with the numbers so far."""
    if recording.record.throughput_tps is not None:
        return recording.record
    return summarize(recording, histograms)


def _duration_s(recording: Recording, over_time: Timeline) -> float:
    done = recording.engine.get("done")
    if done:
        return float(done["measured_ns"] / 1e9)
    return float(over_time.seconds[over_time.phase == "measure"].sum())


def _unfinished_ages_s(recording: Recording) -> list[float]:
    done = recording.engine.get("done") or {}
    return [age_ns / 1e9 for age_ns in done.get("unfinished_ages_ns", ())]


def _transactions(recording: Recording) -> TransactionCounts:
    return TransactionCounts(**_counted(recording, TransactionCounts.__struct_fields__))


def _counted(recording: Recording, names: Iterable[str]) -> dict[str, int]:
    """The engine's last counts of these names; without those that an older one did not count."""
    done = recording.engine.get("done")
    if done:
        return {name: done["counters"][name] for name in names if name in done["counters"]}
    intervals = recording.tables["intervals"]
    last = {name: intervals[name][-1:].tolist() for name in names}
    return {name: found[0] if found else 0 for name, found in last.items()}


def _copied(recording: Recording, direction: str, duration_s: float) -> CopyRecord | None:
    counts = _counted(recording, (f"{direction}_rows", f"{direction}_bytes"))
    if not duration_s or not any(counts.values()):
        return None
    rows_copied, bytes_copied = counts.values()
    return CopyRecord(
        rows=rows_copied,
        bytes=bytes_copied,
        rows_per_s=rows_copied / duration_s,
        bytes_per_s=bytes_copied / duration_s,
    )


def _throughput(recording: Recording, measured: Timeline, duration_s: float) -> Throughput:
    """The value is completed / time, exactly; the interval comes from the samples.

    It uses the variation around the mean of each stage: differences between stages are planned.
    There is none for fewer than five transactions, however many samples saw nothing; and as a
    measurement begins and ends within transactions, it reaches at least one of them to either side.
    """
    transactions = completed(recording)
    value = transactions / duration_s if duration_s else 0.0
    tps = measured.tps
    scattered = without_stage_means(recording.plan, measured.time_s, tps)
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


def _failures(recording: Recording) -> list[FailureRecord]:
    """Counts are cumulative, so the last interval that names a class and code has the total.

    The table of the intervals has no statements: they are known once the run is done.
    """
    if recording.engine.get("done"):
        return _of_engine(recording, "failures")
    columns = ("class", "code", "count", "message")
    last = {
        (kind, code): FailureRecord(failure_class=kind, code=code, count=count, message=message)
        for kind, code, count, message in rows(recording.tables["failures"], columns)
    }
    return list(last.values())


def _of_engine(recording: Recording, name: str) -> list[FailureRecord]:
    """What the engine reported about failures at the end of the run."""
    reported = recording.engine.get("done", {}).get(name, [])
    texts = dict(rows(recording.tables["statement_texts"], ("statement", "sql")))
    return [_failure(texts, **failure) for failure in reported]


def _failure(
    texts: Mapping[int, str],
    statement: int | None = None,
    took_ns: int | None = None,
    **reported: Any,
) -> FailureRecord:
    return FailureRecord(
        statement=texts.get(statement, "") if statement is not None else "",
        took_s=None if took_ns is None else took_ns / 1e9,
        **reported,
    )


def script_names(recording: Recording) -> list[str]:
    """The names of the plan's scripts, in order."""
    return [script["name"] for script in recording.plan.get("scripts", [])]


def _scripts(recording: Recording, histograms: Histograms) -> list[ScriptRecord]:
    planned = recording.plan.get("scripts", [])
    return [_script(recording, histograms, number, plan) for number, plan in enumerate(planned)]


def _script(
    recording: Recording, histograms: Histograms, number: int, planned: dict[str, Any]
) -> ScriptRecord:
    response_ms = latency(recording, histograms, "script_response", number)
    return ScriptRecord(
        name=planned["name"],
        weight=planned["weight"],
        **_script_counts(recording, number),
        response_ms=response_ms,
        service_ms=latency(recording, histograms, "script_service", number) or response_ms,
    )


def _script_counts(recording: Recording, number: int) -> dict[str, int]:
    """Counts over the measured intervals; those of the warm-up are excluded."""
    scripts = recording.tables["scripts"]
    wanted = (scripts["script"] == number) & is_measured(recording, "scripts")
    return {
        name: int(scripts[name][wanted].sum()) for name in ("ok", "committed", "failed", "skipped")
    }


def _statements(recording: Recording, histograms: Histograms) -> list[StatementRecord]:
    scripts = recording.plan.get("scripts", [])
    columns = ("statement", "script", "index", "sql", "connection", "server")
    texts = rows(recording.tables["statement_texts"], columns)
    return [
        StatementRecord(
            script=scripts[script]["name"],
            index=index,
            sql=sql,
            as_text=scripts[script].get("as_text", {}).get(str(index), ""),
            **_rows_touched(recording, number),
            connection=connection,
            server=server,
            **_times(recording, histograms, number),
        )
        for number, script, index, sql, connection, server in texts
    ]


def _rows_touched(recording: Recording, statement: int) -> dict[str, Any]:
    """The rows of a statement's measured executions, by the field names of its record."""
    statements = recording.tables["statements"]
    wanted = (statements["statement"] == statement) & is_measured(recording, "statements")
    sums = {
        name: float(statements[name][wanted].sum()) for name in ("rows", "executions_without_rows")
    }
    return {name: None if math.isnan(value) else int(value) for name, value in sums.items()}


def _times(recording: Recording, histograms: Histograms, statement: int) -> dict[str, Any]:
    """Count and latencies of a statement, by the field names of its record."""
    histogram = total_histogram(recording, histograms, "statement", statement)
    found = latency(recording, histograms, "statement", statement)
    return {
        "count": sample_count(histogram, histograms) if histogram else 0,
        **{f"{name}_ms": getattr(found, name, None) for name in ("mean", "p50", "p95", "p99")},
    }


def _client_cpu_us(recording: Recording) -> float | None:
    done, transactions = recording.engine.get("done"), completed(recording)
    return done["cpu_us"] / transactions if done and transactions else None


def _throttled(recording: Recording, duration_s: float) -> dict[str, float]:
    """The shares of throttled time that the run did not ask for."""
    asked = recording.server.get("placement", {}).get("asked", {})
    return {
        who: share
        for who, share in (throttled_shares(recording, duration_s) if duration_s else {}).items()
        if who != "server" or "server-cores" not in asked
    }


def _paused_s(recording: Recording) -> float:
    """For how long the load generator stood still while it measured."""
    intervals = recording.tables["intervals"]
    return float(intervals["paused_us"][intervals["phase"] == "measure"].sum() / 1e6)
