"""A run as a page: what was run, whether its numbers can be used, the numbers, then the sections.

And in short, as the summary in a terminal at the end of a run: made from the record alone.
"""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from dbdyno.explain.explain import explained_record
from dbdyno.explain.explanation_text import summary_lines
from dbdyno.formatting import milliseconds, seconds, significant, tps
from dbdyno.layout import laid_out
from dbdyno.model.plan import Plan
from dbdyno.model.record import Latency, RunRecord
from dbdyno.model.run import Run, UnreadableTableError
from dbdyno.report.content import (
    Block,
    HeadLine,
    Items,
    Number,
    Numbers,
    Page,
    PageSection,
    Section,
    Table,
    Text,
    Verdict,
)
from dbdyno.report.costs import cost_text, first_costs
from dbdyno.report.page_order import all_sections
from dbdyno.report.render_text import render_text
from dbdyno.report.sections import failures
from dbdyno.report.verdict import (
    command,
    conditions,
    copied,
    did_no_work,
    doubts,
    further_servers,
    intermediaries,
    interval_text,
    is_for_use,
    percentiles,
    reasons,
    server_label,
    transaction_text,
    verdict,
    workload_rates,
)

_FOOTER = (
    "Response time is done − due: the time a user of the system waits. Intervals are within this "
    "run; only repeated runs show how much runs differ."
)
_NO_DETAILS = ("findings", "audit")
_AT_THE_TOP = ("p50", "p95", "p99", "p99.9", "p99.99")


def run_page(run: Run) -> Page:
    """The whole page."""
    record = explained_record(run)
    judgement = _verdict(record, transaction_text(record))
    numbers = _numbers(record)
    return Page(
        name=f"run {record.run_id}",
        title=record.workload,
        head=list(_head(record, run.plan)),
        top=[numbers, judgement] if is_for_use(record) else [judgement, numbers],
        sections=[
            PageSection(
                id=section.id,
                title=section.title,
                blocks=blocks,
                is_detail=section.id not in _NO_DETAILS,
            )
            for section in all_sections()
            if (blocks := _built(section, run))
        ],
        footer=_FOOTER,
    )


def _built(section: Section, run: Run) -> Sequence[Block]:
    """Return a section's blocks; if a table that it needs is damaged, it says so instead."""
    try:
        return section.build(run)
    except UnreadableTableError as error:
        return [Text(text=f"Not shown: {error}", note=True)]


def _head(record: RunRecord, plan: Plan) -> Iterator[HeadLine]:
    yield HeadLine(text=server_label(record.target, record.server), style="where")
    yield from _conditions(record, plan)
    length = [f"{seconds(record.duration_s)} measured"] if record.duration_s else []
    tags = (f"{name}={value}" for name, value in record.tags.items())
    began = record.started_at[:19].replace("T", " ")
    told = record.imported
    if told and not told.is_dated:
        began = f"imported {began}"
    seed = [] if record.seed is None else [f"seed {record.seed}"]
    text = " · ".join([began, *length, *seed, *tags])
    yield HeadLine(text=text, style="when")
    yield from _command(record)


def _conditions(record: RunRecord, plan: Plan) -> Iterator[HeadLine]:
    for text in (conditions(record, plan), further_servers(record), *intermediaries(record)):
        if text:
            yield HeadLine(text=text, style="where")


def _command(record: RunRecord) -> Iterator[HeadLine]:
    if text := command(record):
        yield HeadLine(text=text, style="command")


def _verdict(record: RunRecord, note: str = "") -> Verdict:
    return Verdict(
        text=verdict(record),
        note=note,
        is_good=record.valid,
        reasons=reasons(record),
        doubts=doubts(record),
    )


def _numbers(record: RunRecord) -> Numbers:
    found, response = record.throughput_tps, record.response_ms
    return Numbers(
        lead=Number(
            name="Throughput", value=tps(found.value), unit="TPS", notes=[interval_text(record)]
        )
        if found
        else None,
        numbers=[
            *workload_rates(record),
            *(
                Number(name=name.capitalize(), value=rates, notes=[totals])
                for name, rates, totals in copied(record)
            ),
            *(
                Number(name=name, value=milliseconds(ms))
                for name, ms in (percentiles(response) if response else ())
                if name in _AT_THE_TOP
            ),
            *_mean_alone(response),
        ],
        per_transaction=[
            Number(name=cost.title, value=cost_text(cost)) for cost in first_costs(record.costs)
        ],
    )


def _mean_alone(response: Latency | None) -> Iterator[Number]:
    """The mean of response times, if no percentile is known."""
    if response and response.p50 is None and response.p95 is None:
        yield Number(name="Mean response time", value=milliseconds(response.mean))


def render_summary(record: RunRecord, plan: Plan, screen: int | None = None) -> str:
    """The summary as text, ending in a newline, for a screen of this width.

    What limits the run comes last, where people look first in a terminal.
    """
    length = f", {seconds(record.duration_s)} measured" if record.duration_s else ""
    page = Page(
        title=f"{record.workload} on {server_label(record.target, record.server)}{length}",
        head=[*_conditions(record, plan), *_command(record)],
        top=list(_in_short(record)),
    )
    text = render_text(page, screen)
    if did_no_work(record) or not (record.findings or record.not_looked):
        return text
    found = laid_out(["What limits throughput:", *summary_lines(record)], screen)
    return f"{text}\n{found}\n"


def _in_short(record: RunRecord) -> Iterator[Block]:
    """Blocks of the summary; the verdict on numbers that must not be used precedes them."""
    judgement = _verdict(record)
    if did_no_work(record):
        yield replace(judgement, doubts=[])
        if len(record.failures) > 1:
            yield failures.summary(record)[0]
        return
    if not is_for_use(record):
        yield replace(judgement, doubts=[])
    yield Numbers(numbers=list(_numbers_in_short(record)))
    if record.response_ms:
        yield _latencies(record.response_ms, record.service_ms)
    for section in all_sections():
        yield from section.summary(record)
    if is_for_use(record):
        yield judgement
    elif judgement.doubts:
        yield Items(title="Doubts:", sentences=judgement.doubts)


def _numbers_in_short(record: RunRecord) -> Iterator[Number]:
    found = record.throughput_tps
    if found:
        notes = [interval_text(record)]
        if found.min is not None:
            notes.append(f"measurement intervals: {tps(found.min)} to {tps(found.max)} TPS")
        yield Number(name="throughput", value=tps(found.value), unit="TPS", notes=notes)
    for rate in workload_rates(record):
        yield replace(rate, name=rate.name.lower())
    for name, rates, totals in copied(record):
        yield Number(name=name, value=f"{rates} ({totals})")
    if record.transactions:
        yield Number(name="transactions", value=transaction_text(record))
    # The most important costs in one line; without telemetry, the only one that is known.
    if costs := first_costs(record.costs):
        text = ", ".join(f"{cost.title} {cost_text(cost)}" for cost in costs)
        yield Number(name="cost per txn", value=text)
    elif record.client and record.client.cpu_us_per_transaction is not None:
        cpu_us = significant(record.client.cpu_us_per_transaction)
        yield Number(name="client CPU", value=cpu_us, unit="µs per transaction")


def _latencies(response: Latency, service: Latency | None) -> Table:
    shown = {"response": response}
    if service and service != response:
        shown["service"] = service
    names = [name for name, _ in percentiles(response)]
    columns = ("latency", "mean", *names)
    return Table(
        columns=columns,
        rows=[
            (name, milliseconds(one.mean), *(milliseconds(ms) for _, ms in percentiles(one)))
            for name, one in shown.items()
        ],
        numeric=frozenset(range(1, len(columns))),
    )
