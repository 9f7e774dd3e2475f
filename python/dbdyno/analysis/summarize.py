"""Computes the numbers of a run's record from what its folder contains.

Also for a run that was interrupted: its counters are those of the last interval, and its
percentiles those of the complete windows.
"""

import math
from collections import Counter
from collections.abc import Iterable

import msgspec
import numpy as np

from dbdyno.analysis.doubts import find_doubts
from dbdyno.analysis.series.distributions import (
    is_after_warmup,
    latency,
    response_ms,
    sample_count,
    total_histogram,
)
from dbdyno.analysis.series.planned_load import is_open_loop
from dbdyno.analysis.series.stages import stages_of
from dbdyno.analysis.series.timeline import completed, timeline
from dbdyno.analysis.series.totals import duration_s, throughput, transactions
from dbdyno.analysis.waits.arrivals import arrivals
from dbdyno.model.frame import FailureCount
from dbdyno.model.plan import Script
from dbdyno.model.record import (
    ClientCost,
    CopyRecord,
    FailureRecord,
    RunRecord,
    ScriptRecord,
    ServerRecord,
    StatementRecord,
)
from dbdyno.model.run import Run, once
from dbdyno.model.tables import rows


def summarize(run: Run) -> RunRecord:
    """Return the record with every measured number and doubt; status and validity are unchanged."""
    done, ended = run.engine.done, completed(run)
    return msgspec.structs.replace(
        run.record,
        duration_s=duration_s(run),
        stages=stages_of(run.plan, timeline(run).measured()),
        scripts=[_script(run, *numbered) for numbered in enumerate(run.plan.scripts)],
        transactions=transactions(run),
        failures=_failures(run),
        tried_again=_of_engine(run, done.tried_again) if done else [],
        throughput_tps=throughput(run),
        copy_in=_copied(run, "copy_in"),
        copy_out=_copied(run, "copy_out"),
        response_ms=response_ms(run),
        service_ms=latency(run, "script_service") or response_ms(run),
        statements=_statements(run),
        client=ClientCost(cpu_us_per_transaction=done.cpu_us / ended if done and ended else None),
        servers=[_server(run, *numbered) for numbered in enumerate(run.record.servers)],
        doubts=find_doubts(run),
    )


@once
def full_record(run: Run) -> RunRecord:
    """Return the record as it is, or for an unfinished run with the numbers so far."""
    if run.record.throughput_tps is not None or run.record.imported:
        return run.record
    return summarize(run)


def has_its_rate(run: Run) -> bool:
    """Whether transactions arrived at a given rate, and the server sustained it."""
    return is_open_loop(run.plan) and duration_s(run) > 0 and not arrivals(run).overran


def _copied(run: Run, direction: str) -> CopyRecord | None:
    """What was copied by the transactions that make up throughput: the same time divides it."""
    intervals, measured_s = run.intervals, duration_s(run)
    columns = (getattr(intervals, f"{direction}_{what}") for what in ("rows", "bytes"))
    rows_copied, bytes_copied = (
        int(column[intervals.phase == "measure"].sum()) for column in columns
    )
    if not measured_s or not (rows_copied or bytes_copied):
        return None
    return CopyRecord(
        rows=rows_copied,
        bytes=bytes_copied,
        rows_per_s=rows_copied / measured_s,
        bytes_per_s=bytes_copied / measured_s,
    )


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
            by_script=_by_script(run, one),
            unknown=one.unknown,
        )
        for one in reported
    ]


def _by_script(run: Run, failures: FailureCount) -> dict[str, int]:
    """Failures by the name of their script; two scripts may have one name."""
    counts: Counter[str] = Counter()
    for script, number in zip(run.plan.scripts, failures.scripts, strict=False):
        counts[script.name] += number
    return dict(+counts)  # those of at least one


def _script(run: Run, number: int, planned: Script) -> ScriptRecord:
    scripts = run.scripts
    wanted = (scripts.script == number) & is_after_warmup(run, scripts)
    times_ms = latency(run, "script_response", number)
    return ScriptRecord(
        name=planned.name,
        weight=planned.weight,
        ok=int(scripts.ok[wanted].sum()),
        committed=int(scripts.committed[wanted].sum()),
        failed=int(scripts.failed[wanted].sum()),
        skipped=int(scripts.skipped[wanted].sum()),
        response_ms=times_ms,
        service_ms=latency(run, "script_service", number) or times_ms,
    )


def _server(run: Run, number: int, server: ServerRecord) -> ServerRecord:
    """Transactions are those that make up throughput: the rates of all servers add up to it."""
    seen, intervals, measured_s = run.server_intervals, run.intervals, duration_s(run)
    is_there = seen.server == number
    wanted = is_there & is_after_warmup(run, seen)
    measured = is_there & np.isin(seen.interval, intervals.interval[intervals.phase == "measure"])
    transactions_there = int(seen.completed_committed[measured].sum())
    return msgspec.structs.replace(
        server,
        transactions=transactions_there,
        tps=transactions_there / measured_s if measured_s else 0.0,
        failed=int(seen.completed_failed[wanted].sum()),
        connects=int(seen.connects[wanted].sum()),
        connects_failed=int(seen.connects_failed[wanted].sum()),
        connections_lost=int(seen.connections_lost[wanted].sum()),
    )


def _statements(run: Run) -> list[StatementRecord]:
    scripts, statements = run.plan.scripts, run.statements
    is_of_run = is_after_warmup(run, statements)
    seen = run.statement_texts
    columns = (seen.statement, seen.script, seen.index, seen.sql, seen.connection, seen.server)
    found = []
    for number, script, index, sql, connection, server in rows(*columns):
        wanted = is_of_run & (statements.statement == number)
        touched, without = (
            float(column[wanted].sum())
            for column in (statements.rows, statements.executions_without_rows)
        )
        histogram = total_histogram(run, "statement", number)
        times = latency(run, "statement", number)
        record = StatementRecord(
            script=scripts[script].name,
            index=index,
            sql=sql,
            as_text=scripts[script].as_text.get(str(index), ""),
            rows=None if math.isnan(touched) else int(touched),
            executions_without_rows=None if math.isnan(without) else int(without),
            connection=connection,
            server=server,
            count=sample_count(histogram, run.histograms) if histogram else 0,
            **{f"{name}_ms": getattr(times, name, None) for name in ("mean", "p50", "p95", "p99")},
        )
        found.append(record)
    return found
