"""Makes a run of what a text tells: its record, its tables, and what rules find in them.

Only what is printed is recorded. What follows from several figures is either an interval of the
progress lines, or the part of a rule.
"""

import math
from dataclasses import replace as with_record
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from msgspec.structs import replace

from dbdyno.analysis.doubts import coarse, not_steady, too_short
from dbdyno.analysis.series.totals import scattered_throughput
from dbdyno.databases.known import UNKNOWN, recorded_database, recorded_title
from dbdyno.explain.explain import explain
from dbdyno.imports.imported_run import ImportedRun, ImportedScript
from dbdyno.imports.series import lengths_s, tables_of
from dbdyno.model.record import (
    ImportRecord,
    Latency,
    RateRecord,
    RunRecord,
    ScriptRecord,
    StatementRecord,
    Throughput,
    TransactionCounts,
)
from dbdyno.model.run import Histograms, RecordedServer, Run
from dbdyno.store.run import RunFolder, stand_in_plan
from dbdyno.store.writer import RunWriter


def run_of(imported: ImportedRun, source: str, histograms: Histograms) -> Run:
    """The run that a text tells of, explained as far as it can be."""
    record = _record(imported, source)
    plan = stand_in_plan(record)
    run = Run(
        record=record,
        plan=plan,
        database=recorded_database(record.server, plan.endpoint.protocol),
        server=RecordedServer(product=record.server["product"]),
        histograms=histograms,
        columns=tables_of(imported),
    )
    if (found := scattered_throughput(run, imported.tps)) is not None:
        record = replace(record, throughput_tps=found)
    measured = with_record(run, record=record)
    weaknesses = (doubt(measured) for doubt in (too_short, not_steady, coarse))
    doubts = [*record.doubts, *filter(None, weaknesses)] if imported.parts else record.doubts
    measured = with_record(run, record=replace(record, doubts=doubts))
    explanation = explain(measured)
    return with_record(
        measured,
        record=replace(
            measured.record,
            findings=explanation.findings,
            not_looked=explanation.not_looked,
        ),
    )


def keep(run: Run, tags: dict[str, str], number: int, home: Path | None = None) -> RunFolder:
    """Write a run folder; its number among those of an import keeps their order in lists."""
    name = f"{number:03}-{run.record.workload}"
    with RunWriter(replace(run.record, tags=tags), None, home, name) as writer:
        server = {name: run.record.server[name] for name in ("product", "version")}
        writer.write_server({**server, "database": run.database.name})
        writer.finish(with_record(run, record=replace(run.record, tags=tags)))
    return RunFolder(writer.folder)


def _record(imported: ImportedRun, source: str) -> RunRecord:
    began = imported.began_unix_s
    instant = datetime.now(UTC) if began is None else datetime.fromtimestamp(began, UTC)
    response = _latency(imported.latencies_ms)
    server = {"product": UNKNOWN, "database": UNKNOWN, "version": ""}
    if imported.product:
        server = {"product": imported.product, "version": imported.server_version}
    return RunRecord(
        run_id="",
        status="failed" if imported.failure else "done",
        started_at=instant.isoformat(timespec="microseconds"),
        workload=imported.workload or imported.tool,
        target="",
        server={**server, "title": recorded_title(server)},
        seed=None,
        imported=_source(imported, source),
        dbdyno_version=metadata.version("dbdyno"),
        valid=False if imported.failure else None,
        invalid_reasons=[imported.failure] if imported.failure else [],
        doubts=_doubts(imported),
        # Without a printed time, that of the progress lines.
        duration_s=imported.duration_s or math.fsum(lengths_s(imported)) or None,
        scripts=[_script(one) for one in imported.scripts],
        transactions=_transactions(imported),
        throughput_tps=None
        if imported.tps is None
        else Throughput(
            value=imported.tps,
            low=None,
            high=None,
            min=None,
            max=None,
            samples=0,
            samples_effective=None,
            coefficient_of_variation=None,
        ),
        nopm=None
        if imported.nopm is None
        else RateRecord(value=imported.nopm, low=None, high=None),
        response_ms=response,
        service_ms=None if imported.is_open_loop else response,
        statements=[
            StatementRecord(
                script=one.script or imported.workload,
                index=one.index,
                sql=one.sql,
                count=None,
                mean_ms=one.mean_ms,
                p50_ms=None,
                p95_ms=None,
                p99_ms=None,
            )
            for one in imported.statements
        ],
    )


def _source(imported: ImportedRun, source: str) -> ImportRecord:
    return ImportRecord(
        tool=imported.tool,
        version=imported.version,
        source=source,
        first_line=imported.first_line,
        last_line=imported.last_line,
        is_complete=imported.is_complete,
        is_dated=imported.began_unix_s is not None,
        command=imported.command,
        clients=imported.clients,
        threads=imported.threads,
        scale=imported.scale,
        query_mode=imported.query_mode,
        loop="open" if imported.is_open_loop else "closed" if imported.is_complete else None,
        rate_tps=imported.rate_tps,
        figures=imported.figures,
    )


def _doubts(imported: ImportedRun) -> list[str]:
    doubts = [
        f"imported: {imported.tool} measured this; what its text does not say is not known, such "
        "as the host, the server's settings and durability, and what else ran"
    ]
    if not imported.is_complete:
        doubts.append(
            "cut off: the text has no end of this run; what is known of it is what was printed "
            "until then"
        )
    return [*doubts, *imported.doubts]


def _transactions(imported: ImportedRun) -> TransactionCounts | None:
    if imported.ok is None:
        return None
    return TransactionCounts(
        ok=imported.ok,
        rolled_back=None,
        aborted=None,
        left_open=None,
        failed=imported.failed,
        skipped=imported.skipped,
        unfinished=None,
        waiting=None,
        late=imported.late,
        retried=imported.retried,
    )


def _latency(known_ms: dict[str, float]) -> Latency | None:
    if "mean" not in known_ms:
        return None
    return Latency(
        mean=known_ms["mean"],
        p50=known_ms.get("p50"),
        p90=known_ms.get("p90"),
        p95=known_ms.get("p95"),
        p99=known_ms.get("p99"),
        p999=known_ms.get("p999"),
        p9999=known_ms.get("p9999"),
        max=known_ms.get("max"),
    )


def _script(script: ImportedScript) -> ScriptRecord:
    response = _latency({} if script.mean_ms is None else {"mean": script.mean_ms})
    return ScriptRecord(
        name=script.name,
        weight=script.weight,
        ok=script.ok,
        failed=script.failed,
        skipped=script.skipped,
        response_ms=response,
        service_ms=None,
    )
