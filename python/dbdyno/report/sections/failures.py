"""Failures by class and code, of transactions and of their attempts; and outages."""

from collections.abc import Sequence

import numpy as np

from dbdyno.explain.explain import explained_record
from dbdyno.explain.statements.sql import Sql
from dbdyno.formatting import NOTHING, count, percent, seconds
from dbdyno.model.record import FailureRecord, RunRecord
from dbdyno.model.run import Run
from dbdyno.report.content import Block, Section, Table, Text


def build(run: Run) -> Sequence[Block]:
    """States that there were none, if so: an absent section would leave it open."""
    tables = [*_failures(run), *_tried_again(run), *_outages(run)]
    return tables or [Text(text="No transaction failed, and no connection was lost.")]


def _failures(run: Run) -> list[Block]:
    failures = sorted(explained_record(run).failures, key=lambda failure: -failure.count)
    counts = explained_record(run).transactions
    if not failures:
        return []
    ended = max((counts.ok + counts.failed) if counts else 0, 1)
    return [
        Table(
            caption="Failed transactions by class",
            columns=("Class", "Code", "Count", "Share", "First message", "Statement"),
            rows=[
                (
                    failure.failure_class.replace("_", " "),
                    failure.code,
                    count(failure.count),
                    percent(failure.count / ended),
                    failure.message,
                    failure.statement or NOTHING,
                )
                for failure in failures
            ],
            numeric=frozenset({2, 3}),
            code=frozenset({5}),
        )
    ]


def _tried_again(run: Run) -> list[Block]:
    tries = sorted(explained_record(run).tried_again, key=lambda one: -one.count)
    if not tries:
        return []
    return [
        Table(
            caption="Failed tries that were retried",
            columns=("Class", "Code", "Count", "Total time", "First message", "Statement"),
            rows=[
                (
                    one.failure_class.replace("_", " "),
                    one.code,
                    count(one.count),
                    seconds(one.took_s or 0.0),
                    one.message,
                    one.statement or NOTHING,
                )
                for one in tries
            ],
            numeric=frozenset({2, 3}),
            code=frozenset({5}),
        )
    ]


def summary(record: RunRecord) -> Sequence[Block]:
    """Failures, and failed tries that were retried: the first message tells the most."""
    titled = {"failures": record.failures, "retried": record.tried_again}
    return [_in_short(title, found) for title, found in titled.items() if found]


def _in_short(title: str, failures: Sequence[FailureRecord]) -> Table:
    return Table(
        columns=(title, "code", "count", "first message"),
        rows=[
            (one.failure_class.replace("_", " "), one.code, count(one.count), _first_message(one))
            for one in sorted(failures, key=lambda one: -one.count)
        ],
        numeric=frozenset({2}),
        is_cut=True,
    )


def _first_message(failure: FailureRecord) -> str:
    place = f"{Sql(failure.statement).in_short}: " if failure.statement else ""
    return place + failure.message


def _outages(run: Run) -> list[Block]:
    outages = run.outages
    if not len(outages):
        return []
    columns = (outages.time_s, outages.seconds, outages.connections_lost, outages.message)
    return [
        Table(
            caption="Outages",
            columns=("Start", "Duration", "Connections lost", "Message"),
            rows=[
                (
                    seconds(float(at)),
                    "until the end" if np.isnan(length) else seconds(float(length)),
                    count(lost),
                    message,
                )
                for at, length, lost, message in zip(*columns, strict=True)
            ],
            numeric=frozenset({0, 1, 2}),
        )
    ]


SECTION = Section(id="failures", title="Failures", build=build, summary=summary)
