"""The summary at the end of a run, for a terminal or a log: plain text of at most 100 columns.

No colours and no boxes: it is pasted into mails and issues. Statements and messages of a server are
truncated at the end of the line; the HTML report has them in full.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from dbdyno.explain.explanation_text import summary_lines
from dbdyno.explain.sql import in_short
from dbdyno.formatting import count, counted, milliseconds, seconds, significant, tps
from dbdyno.layout import (
    FLOW,
    Columns,
    Command,
    Line,
    Paragraph,
    aligned,
    laid_out,
    printable,
    shortened,
)
from dbdyno.model.record import FailureRecord, Latency, RunRecord, StageRecord, StatementRecord
from dbdyno.report.costs import cost_text, first_costs
from dbdyno.report.sections.statements import rows_each, statement_label
from dbdyno.report.server_label import server_label
from dbdyno.report.verdict import (
    command,
    conditions,
    copied,
    did_no_work,
    doubts,
    further_servers,
    interval_text,
    is_for_use,
    percentiles,
    reasons,
    transaction_text,
    verdict,
)

_SET_IN = " " * 14
_NAMED = 60
"""Characters of a statement that is named in a sentence."""


def render_text(record: RunRecord, plan: Mapping[str, Any], screen: int | None = None) -> str:
    """Render the whole summary, ending in a newline, for a screen of this width.

    The verdict on numbers that must not be used precedes them.
    """
    width = FLOW if screen is None else min(screen, FLOW)
    if did_no_work(record):
        why: list[list[Line]] = [list(_head(record, plan)), list(_verdict(record))]
        if len(record.failures) > 1:
            why.append(list(_failures("failures", record.failures, width)))
        return _laid_out(why, screen)
    blocks: list[list[Line]] = [
        list(_head(record, plan)),
        [] if is_for_use(record) else list(_verdict(record)),
        list(_results(record)),
        list(_latencies(record)),
        list(_stages(record.stages)),
        list(_statements(record.statements, width)),
        list(_sent_as_text(record.statements)),
        list(_failures("failures", record.failures, width)),
        list(_failures("retried", record.tried_again, width)),
        [*(_verdict(record) if is_for_use(record) else ()), *_doubts(record)],
        list(_explanation(record)),
    ]
    return _laid_out(blocks, screen)


def _laid_out(blocks: Iterable[list[Line]], screen: int | None) -> str:
    return "\n\n".join(laid_out(block, screen) for block in blocks if block) + "\n"


def _head(record: RunRecord, plan: Mapping[str, Any]) -> Iterator[Line]:
    length = f", {seconds(record.duration_s)} measured" if record.duration_s else ""
    yield f"{printable(record.workload)} on {server_label(record.target, record.server)}{length}"
    if text := conditions(record, plan):
        yield Paragraph(f"  {text}", "  ")
    if text := further_servers(record):
        yield Paragraph(f"  {printable(text)}", "  ")
    if text := command(record):
        yield Command(f"  {printable(text)}")


def _results(record: RunRecord) -> Iterator[Line]:
    found = record.throughput_tps
    if found:
        yield f"throughput    {tps(found.value)} TPS"
        yield Paragraph(f"{_SET_IN}{interval_text(record)}", _SET_IN)
        if found.min is not None:
            yield f"{_SET_IN}measurement intervals: {tps(found.min)} to {tps(found.max)} TPS"
    for name, rates, totals in copied(record):
        yield Paragraph(f"{name:{len(_SET_IN)}}{rates} ({totals})", _SET_IN)
    if record.transactions:
        yield Paragraph(f"transactions  {transaction_text(record)}", _SET_IN)
    yield from _costs(record)


def _costs(record: RunRecord) -> Iterator[Line]:
    """The most important in one line; without telemetry, the only one that is known."""
    costs = first_costs(record.costs)
    if costs:
        costs_text = ", ".join(f"{cost.title} {cost_text(cost)}" for cost in costs)
        yield Paragraph(f"cost per txn  {costs_text}", _SET_IN)
    elif record.client and record.client.cpu_us_per_transaction is not None:
        cpu_us = significant(record.client.cpu_us_per_transaction)
        yield f"client CPU    {cpu_us} µs per transaction"


def _latencies(record: RunRecord) -> Iterator[Line]:
    if record.response_ms is None:
        return
    shown = {"response": record.response_ms}
    if record.service_ms and record.service_ms != record.response_ms:
        shown["service"] = record.service_ms
    rows = [_latency_row(name, latency) for name, latency in shown.items()]
    names = [name for name, _ in percentiles(record.response_ms)]
    yield Columns([("latency", "mean", *names), *rows], left=1)


def _latency_row(name: str, latency: Latency) -> tuple[str, ...]:
    return (name, milliseconds(latency.mean), *(milliseconds(ms) for _, ms in percentiles(latency)))


def _stages(stages: Sequence[StageRecord]) -> Iterator[Line]:
    """Each stage alone: the numbers above are of all stages together."""
    if stages:
        rows = [_stage_row(number, stage) for number, stage in enumerate(stages, 1)]
        yield Columns([("stage", "duration", "load", "TPS", "p50", "p99"), *rows], left=3)
        yield "p50 and p99 of a stage: median over its measurement intervals"


def _stage_row(number: int, stage: StageRecord) -> tuple[str, ...]:
    clients, rate = stage.clients, f"{tps(stage.rate_tps)} TPS"
    load = rate if clients is None else counted(clients, "client")
    times = (milliseconds(stage.p50_ms), milliseconds(stage.p99_ms))
    return (str(number), seconds(stage.duration_s), load, tps(stage.tps), *times)


def _statements(statements: Sequence[StatementRecord], width: int) -> Iterator[str]:
    if not any(one.count for one in statements):
        return  # killed before the first histograms were written
    # A statement that failed was answered, too: its time counts in the transaction only.
    counts_rows = any(one.rows is not None for one in statements)
    head = ("ok", *(("rows",) * counts_rows), "mean", "p50", "p95", "p99")
    rows = [head, *(_statement_row(one, counts_rows=counts_rows) for one in statements)]
    numbers = list(aligned(rows, left=0))
    room = width - len(numbers[0]) - 2
    labels = ["statement", *(printable(statement_label(one, statements)) for one in statements)]
    for line, label in zip(numbers, labels, strict=True):
        yield f"{line}  {shortened(label, room)}"


def _sent_as_text(statements: Sequence[StatementRecord]) -> Iterator[Line]:
    as_text = [one for one in statements if one.as_text]
    if as_text:
        yield "These statements are sent as text, with the values in it:"
    for one in as_text:
        name = shortened(printable(statement_label(one, statements)), _NAMED)
        yield from _items([f"{name}: {printable(one.as_text)}"])


def _statement_row(one: StatementRecord, *, counts_rows: bool) -> tuple[str, ...]:
    times = (one.mean_ms, one.p50_ms, one.p95_ms, one.p99_ms)
    rows = (rows_each(one),) * counts_rows
    return (count(one.count), *rows, *(milliseconds(ms) for ms in times))


def _failures(title: str, failures: Sequence[FailureRecord], width: int) -> Iterator[str]:
    if not failures:
        return
    rows = [
        (one.failure_class.replace("_", " "), one.code, count(one.count), _first_message(one))
        for one in sorted(failures, key=lambda one: -one.count)
    ]
    numbers = list(aligned([(title, "code", "count"), *(row[:3] for row in rows)], left=2))
    messages = ["first message", *(row[3] for row in rows)]
    for line, message in zip(numbers, messages, strict=True):
        yield f"{line}  {shortened(message, width - len(line) - 2)}"


def _first_message(failure: FailureRecord) -> str:
    place = f"{in_short(failure.statement)}: " if failure.statement else ""
    return printable(place + failure.message)


def _verdict(record: RunRecord) -> Iterator[Line]:
    yield verdict(record)
    yield from _items(reasons(record))


def _doubts(record: RunRecord) -> Iterator[Line]:
    found = doubts(record)
    if found:
        yield "Doubts:"
        yield from _items(found)


def _items(sentences: Iterable[str]) -> Iterator[Line]:
    return (Paragraph(f"  - {sentence}", "    ") for sentence in sentences)


def _explanation(record: RunRecord) -> Iterator[Line]:
    """What limits the run, in short; nothing for a run that was not explained."""
    if record.findings or record.not_looked:
        yield "What limits throughput:"
        yield from summary_lines(record)
