"""The table at the end of a run, for a terminal or a log: plain text of at most 100 columns.

No colours and no boxes: it is pasted into mails and issues.
"""

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from dbdyno.explain.told import told
from dbdyno.model.record import FailureRecord, Latency, RunRecord, StatementRecord
from dbdyno.report.costs import cost_words, first_costs
from dbdyno.report.verdict import (
    doubts,
    interval_words,
    percentiles,
    reasons,
    transaction_words,
    verdict,
)
from dbdyno.report.words import THIN_SPACE, count, milliseconds, seconds, significant, tps, where

_WIDTH = 100


def render_text(record: RunRecord) -> str:
    """The whole table, ending in a newline."""
    blocks = [
        list(_head(record)),
        list(_latencies(record)),
        list(_statements(record.statements)),
        list(_failures(record.failures)),
        list(_judgement(record)),
        list(_explanation(record)),
    ]
    text = "\n\n".join("\n".join(block) for block in blocks if block)
    return text.replace(THIN_SPACE, " ") + "\n"


def _head(record: RunRecord) -> Iterator[str]:
    length = f", {seconds(record.duration_s)} measured" if record.duration_s else ""
    yield f"{record.workload} on {where(record.target, record.server)}{length}"
    found = record.throughput_tps
    if found:
        yield f"throughput    {tps(found.value)} TPS"
        yield f"              {interval_words(record)}"
        if found.min is not None:
            yield f"              intervals from {tps(found.min)} to {tps(found.max)} TPS"
    if record.transactions:
        yield f"transactions  {transaction_words(record)}"
    yield from _costs(record)


def _costs(record: RunRecord) -> Iterator[str]:
    """The dearest in one line; of a run without telemetry, the only one that is known."""
    costs = first_costs(record.costs)
    if costs:
        told_costs = ", ".join(f"{cost.title} {cost_words(cost)}" for cost in costs)
        yield f"each costs    {told_costs}"
    elif record.client and record.client.cpu_us_per_transaction is not None:
        yield f"client CPU    {significant(record.client.cpu_us_per_transaction)} µs a transaction"


def _latencies(record: RunRecord) -> Iterator[str]:
    if record.response_ms is None:
        return
    shown = {"response": record.response_ms}
    if record.service_ms and record.service_ms != record.response_ms:
        shown["service"] = record.service_ms
    rows = [_latency_row(name, latency) for name, latency in shown.items()]
    names = [name for name, _ in percentiles(record.response_ms)]
    yield from aligned([("latency", "mean", *names), *rows], left=1)


def _latency_row(name: str, latency: Latency) -> tuple[str, ...]:
    return (name, milliseconds(latency.mean), *(milliseconds(ms) for _, ms in percentiles(latency)))


def _statements(statements: Sequence[StatementRecord]) -> Iterator[str]:
    if not statements:
        return
    rows = [("count", "mean", "p50", "p95", "p99"), *(_statement_row(one) for one in statements)]
    numbers = list(aligned(rows, left=0))
    room = _WIDTH - len(numbers[0]) - 2
    labels = ["statement", *(_label(one, statements) for one in statements)]
    for line, label in zip(numbers, labels, strict=True):
        yield f"{line}  {_shortened(label, room)}"


def _statement_row(one: StatementRecord) -> tuple[str, ...]:
    times = (one.mean_ms, one.p50_ms, one.p95_ms, one.p99_ms)
    return (count(one.count), *(milliseconds(ms) for ms in times))


def _label(one: StatementRecord, among: Sequence[StatementRecord]) -> str:
    several = len({other.script for other in among}) > 1
    return f"{one.script}: {one.sql}" if several else one.sql


def _shortened(text: str, length: int) -> str:
    line = printable(text)
    return line if len(line) <= length else line[: length - 1] + "…"


def _failures(failures: Sequence[FailureRecord]) -> Iterator[str]:
    if not failures:
        return
    rows = [
        (one.failure_class.replace("_", " "), one.code, count(one.count), printable(one.message))
        for one in sorted(failures, key=lambda one: -one.count)
    ]
    numbers = list(aligned([("failures", "code", "count"), *(row[:3] for row in rows)], left=2))
    messages = ["first message", *(row[3] for row in rows)]
    for line, message in zip(numbers, messages, strict=True):
        yield f"{line}  {_shortened(message, _WIDTH - len(line) - 2)}"


def _judgement(record: RunRecord) -> Iterator[str]:
    yield verdict(record)
    yield from _items(reasons(record))
    found = doubts(record)
    if found:
        yield "Doubts:"
        yield from _items(found)


def _items(sentences: Iterable[str]) -> Iterator[str]:
    for sentence in sentences:
        yield from textwrap.wrap(
            f"  - {sentence}",
            _WIDTH,
            subsequent_indent="    ",
            break_long_words=False,
            break_on_hyphens=False,
        )


def _explanation(record: RunRecord) -> Iterator[str]:
    """Why it was not more, in short; nothing of a run that was not explained."""
    if record.findings or record.not_looked:
        yield "Why not more:"
        yield from map(_visible, told(record))


def aligned(rows: Sequence[Sequence[str]], left: int) -> Iterator[str]:
    """Columns under each other, the first ``left`` of them flush left."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            cell.ljust(width) if place < left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(cells)


def printable(text: str) -> str:
    """One line without control characters: a server's message must not steer the terminal."""
    return _visible(" ".join(text.split()))


def _visible(line: str) -> str:
    return "".join(one if one.isprintable() else " " for one in line)
