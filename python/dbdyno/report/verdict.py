"""The sentences at the top of every report: the conditions, whether the numbers can be used.

``text`` and ``html`` show the same sentences.
"""

import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from dbdyno.analysis.compare.metrics import RATES
from dbdyno.analysis.compare.unequal_conditions import isolation_of, loop_of, tries_of
from dbdyno.analysis.compare.workload_parameters import workload_parameters
from dbdyno.explain.sentences import capitalized
from dbdyno.formatting import count, counted, percent, significant, size, tps
from dbdyno.layout import printable, shortened
from dbdyno.model.plan import Plan
from dbdyno.model.record import ImportRecord, Latency, RateRecord, RunRecord
from dbdyno.report.content import Number

_PARAMETER_LENGTH_MAX = 40
PERCENTILE_NAMES = {
    "p50": "p50",
    "p90": "p90",
    "p95": "p95",
    "p99": "p99",
    "p999": "p99.9",
    "p9999": "p99.99",
    "max": "max",
}


def verdict(record: RunRecord) -> str:
    """The verdict in one sentence."""
    if record.status == "running":
        return "The run is in progress: these are the results so far."
    if record.status == "interrupted":
        return "Interrupted: these are the results of the part that was recorded."
    if did_no_work(record):
        return "The run failed, as most of its transactions did: there is no result."
    if record.status == "failed":
        return "The run failed: these are the results until then."
    if record.valid is None:
        by = f"Imported: {record.imported.tool} measured this. " if record.imported else ""
        return f"{by}Validity was not determined."
    return "Valid." if record.valid else "Not valid: do not use these results."


def did_no_work(record: RunRecord) -> bool:
    """Whether the run failed with its statements, as by a typo: only the reason tells anything."""
    counts = record.transactions
    return record.status == "failed" and counts is not None and counts.ok < (counts.failed or 0)


def is_for_use(record: RunRecord) -> bool:
    """Whether the run ended and is valid: if not, the verdict precedes the numbers."""
    return record.status == "done" and record.valid is not False


def conditions(record: RunRecord, plan: Plan) -> str:
    """Load, data and durability level: numbers of other conditions cannot be set beside these."""
    if record.imported:
        return ", ".join(_told(record.imported))
    data = workload_parameters(record, plan)
    named = (shortened(printable(f"{name} {data[name]}"), _PARAMETER_LENGTH_MAX) for name in data)
    level = record.server.get("promise")
    durability = [f"durability {level}"] if level else []
    return ", ".join([*_load(plan), *isolation_of(record), *named, *durability])


def _told(told: ImportRecord) -> Iterator[str]:
    """The conditions that another tool's text tells."""
    if told.clients is not None:
        yield counted(told.clients, "client")
    if told.threads is not None:
        yield counted(told.threads, "thread")
    if told.loop:
        yield f"{told.loop} loop"
    if told.rate_tps is not None:
        yield f"{significant(told.rate_tps)} TPS requested"
    if told.query_mode:
        yield f"query mode {told.query_mode}"
    if told.scale is not None:
        yield f"scale {told.scale}"
    yield f"measured by {f'{told.tool} {told.version}'.strip()}"


def server_label(target: str, server: Mapping[str, Any]) -> str:
    """The run's server: its product, and its address if that outlives the run.

    The address of a private server is a socket that is gone when the report is read.
    """
    title = server.get("title")
    kind, version = server.get("kind"), re.split("[ -]", str(server.get("version", "")))[0]
    if not target:
        return " ".join(filter(None, (title or "a server", version)))
    if not title or not version:
        return target
    if kind in ("private", "kept"):
        return f"{title} {version}, {kind}"
    return f"{target} ({title} {version})"


def further_servers(record: RunRecord) -> str:
    """The servers that the load also went to, and what is not known of them."""
    if not record.further_targets:
        return ""
    names = [one.name for one in record.servers] or [record.target, *record.further_targets]
    named = ", ".join(f"server {number} is {name}" for number, name in enumerate(names))
    return (
        f"several servers were there for the load: {named}; only server 0 was observed: data, "
        "settings, telemetry, findings and server costs are its own"
    )


def intermediaries(record: RunRecord) -> Iterator[str]:
    """What is in front of the servers, what showed it, and what is therefore not known."""
    for one in record.intermediaries or ():
        where = f" in front of {one.target}" if record.further_targets else ""
        effect = "response times include it"
        if one.kind == "pooler":
            effect += (
                "; which session of the server works for which client is not known, nor what "
                "clients wait for there"
            )
        if one.mode == "transaction":
            effect += "; settings and advisory locks of a session end with each transaction"
        yield f"through {one.title}{where}: {effect} ({'; '.join(one.seen)})"


def command(record: RunRecord) -> str:
    """The command that repeats the run; empty for runs of older versions.

    Of an imported run it is the other tool's.
    """
    if record.imported:
        return record.imported.command
    return shlex.join(["dbdyno", "run", *record.command]) if record.command else ""


def _load(plan: Plan) -> Iterator[str]:
    stages = {stage.clients for stage in plan.stages} - {None, plan.clients}
    clients = f"{'up to ' if stages else ''}{counted(plan.clients, 'client')}"
    for group in plan.groups[1:] if plan.groups else ():
        clients += f", {group.clients} of them with scripts of their own"
    if plan.executors:
        clients += f", {plan.executors} of them executors"
    yield clients
    yield counted(plan.threads, "thread")
    kind, comma, rest = loop_of(plan).partition(",")
    yield f"{kind} loop{comma}{rest}"
    if rates := [stage.rate_tps for stage in plan.stages if stage.rate_tps]:
        lowest, highest = significant(min(rates)), significant(max(rates))
        yield f"{lowest if lowest == highest else f'{lowest} to {highest}'} TPS requested"
    if plan.transactions_per_client:
        yield f"{counted(plan.transactions_per_client, 'transaction')} per client"
    yield f"query mode {plan.query_mode}"
    if plan.reconnect_each_transaction:
        yield "a new connection for each transaction"
    if plan.latency_limit_ns:
        yield f"latency limit {plan.latency_limit_ns / 1e6:g} ms"
    if (tries := tries_of(plan)) != "1":
        yield f"tries: {tries}"


def reasons(record: RunRecord) -> list[str]:
    """Why a run is not valid, one sentence each."""
    return [capitalized(reason) for reason in record.invalid_reasons]


def doubts(record: RunRecord) -> list[str]:
    """What weakens the numbers, one sentence each."""
    return [capitalized(doubt) for doubt in record.doubts]


def interval_text(record: RunRecord) -> str:
    """The interval of the throughput, and what it is based on."""
    found = record.throughput_tps
    if found is None or found.low is None or found.high is None:
        return "no interval: too few samples"
    effective = count(round(found.samples_effective or 0))
    return (
        f"{tps(found.low)} to {tps(found.high)}: 95 % interval within this run "
        f"({found.samples} samples, effective sample size {effective})"
    )


def workload_rates(record: RunRecord) -> Iterator[Number]:
    """What the workload is known for, with its interval; new orders also with their bound."""
    for name, (title, unit) in RATES.items():
        rate: RateRecord | None = getattr(record, name)
        if rate is None:
            continue
        notes = ["no interval: too few samples"]
        if rate.low is not None and rate.high is not None:
            notes = [f"{tps(rate.low)} to {tps(rate.high)}: 95 % interval within this run"]
        if name == "nopm":
            notes.append(
                "unpaced: clients do not pause between transactions"
                if record.efficiency is None
                else f"{percent(record.efficiency)} of what the pauses of its clients allow"
            )
        yield Number(name=title, value=tps(rate.value), unit=unit, notes=notes)


def copied(record: RunRecord) -> Iterator[tuple[str, str, str]]:
    """For each direction in which COPY moved rows: its name, the rates, the totals."""
    for name, moved in (("copy in", record.copy_in), ("copy out", record.copy_out)):
        if moved:
            rates = f"{tps(moved.rows_per_s)} rows/s, {size(moved.bytes_per_s)}/s"
            yield name, rates, f"{counted(moved.rows, 'row')}, {size(moved.bytes)} in all"


def percentiles(latency: Latency) -> Iterator[tuple[str, float]]:
    """Names as usually written, and milliseconds; those that are known."""
    for field, name in PERCENTILE_NAMES.items():
        if (value := getattr(latency, field)) is not None:
            yield name, value


def transaction_text(record: RunRecord) -> str:
    """How many transactions there were, and their outcomes."""
    counts = record.transactions
    if counts is None:
        return ""
    rest = ("failed", "skipped", "unfinished", "waiting", "retried")
    others = [f"{count(getattr(counts, name))} {name}" for name in rest if getattr(counts, name)]
    of_them = {
        "late": counts.late,
        "rolled back by the script": counts.rolled_back,
        "rolled back by the server": counts.aborted,
        "left open": counts.left_open,
    }
    said = ", ".join(f"{count(number)} {what}" for what, number in of_them.items() if number)
    noted = f" (of them {said})" if said else ""
    return ", ".join([f"{count(counts.ok)} ok{noted}", *others])
