"""Failures by class and code, of transactions and of their attempts; and outages."""

from collections.abc import Sequence

import numpy as np

from dbdyno.formatting import NOTHING, count, percent, seconds
from dbdyno.report.content import Block, Section, Subject, Table, Text


def build(subject: Subject) -> Sequence[Block]:
    """States that there were none, if so: an absent section would leave it open."""
    tables = [*_failures(subject), *_tried_again(subject), *_outages(subject)]
    return tables or [Text(text="No transaction failed, and no connection was lost.")]


def _failures(subject: Subject) -> list[Block]:
    failures = sorted(subject.record.failures, key=lambda failure: -failure.count)
    counts = subject.record.transactions
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


def _tried_again(subject: Subject) -> list[Block]:
    tries = sorted(subject.record.tried_again, key=lambda one: -one.count)
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


def _outages(subject: Subject) -> list[Block]:
    outages = subject.recording.tables["outages"]
    if not len(outages["time_s"]):
        return []
    columns = (outages[name] for name in ("time_s", "seconds", "connections_lost", "message"))
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


SECTION = Section(id="failures", title="Failures", order=70, build=build)
