"""Failures by class and code, of transactions and of their attempts; and outages."""

from collections.abc import Callable, Sequence

import numpy as np

from dbdyno.explain.explain import explained_record
from dbdyno.explain.statements.sql import Sql
from dbdyno.formatting import NOTHING, count, percent, seconds
from dbdyno.model.record import FailureRecord, RunRecord
from dbdyno.model.run import Run
from dbdyno.report.content import Block, Section, Table, Text


def build(run: Run) -> Sequence[Block]:
    """States that there were none, if so: an absent section would leave it open."""
    record = explained_record(run)
    counts = record.transactions
    ended = max((counts.ok + counts.failed) if counts else 0, 1)
    tables = [
        *_by_class(
            "Failed transactions by class",
            record.failures,
            "Share",
            lambda one: percent(one.count / ended),
        ),
        *_by_class(
            "Failed tries that were retried",
            record.tried_again,
            "Total time",
            lambda one: seconds(one.took_s or 0.0),
        ),
        *_outages(run),
    ]
    return tables or [Text(text="No transaction failed, and no connection was lost.")]


def _by_class(
    caption: str,
    failures: Sequence[FailureRecord],
    measure: str,
    measured: Callable[[FailureRecord], str],
) -> list[Block]:
    """The classes of failures, the most frequent first."""
    if not failures:
        return []
    return [
        Table(
            caption=caption,
            columns=("Class", "Code", "Count", measure, "First message", "Statement"),
            rows=[
                (
                    one.failure_class.replace("_", " "),
                    one.code,
                    count(one.count),
                    measured(one),
                    one.message,
                    one.statement or NOTHING,
                )
                for one in sorted(failures, key=lambda one: -one.count)
            ],
            numeric=frozenset({2, 3}),
            code=frozenset({5}),
        )
    ]


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


def summary(record: RunRecord) -> Sequence[Block]:
    """Failures, and failed tries that were retried: the first message tells the most."""
    return [
        Table(
            columns=(title, "code", "count", "first message"),
            rows=[
                (
                    one.failure_class.replace("_", " "),
                    one.code,
                    count(one.count),
                    ": ".join(filter(None, (Sql(one.statement).in_short, one.message))),
                )
                for one in sorted(failures, key=lambda one: -one.count)
            ],
            numeric=frozenset({2}),
            is_cut=True,
        )
        for title, failures in (("failures", record.failures), ("retried", record.tried_again))
        if failures
    ]


SECTION = Section(id="failures", title="Failures", build=build, summary=summary)
