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
    ended = max(counts.ended or 0 if counts else 0, 1)
    tables = [
        *_by_class(
            "Failed transactions by class",
            record,
            record.failures,
            "Share",
            lambda one: percent(one.count / ended),
        ),
        *_by_class(
            "Failed tries that were retried",
            record,
            record.tried_again,
            "Total time",
            lambda one: seconds(one.took_s or 0.0),
        ),
        *_outages(run),
    ]
    if told := record.imported:
        failed = f"{count(counts.failed)} failed" if counts and counts.failed else "none failed"
        is_known = counts is not None and counts.failed is not None
        said = f"says that {failed}" if is_known else "does not say how many failed"
        return [Text(text=f"Of the transactions, {told.tool}'s text {said}.")]
    return tables or [Text(text="No transaction failed, and no connection was lost.")]


def _by_class(
    caption: str,
    record: RunRecord,
    failures: Sequence[FailureRecord],
    measure: str,
    measured: Callable[[FailureRecord], str],
) -> list[Block]:
    """The classes of failures, the most frequent first."""
    if not failures:
        return []
    names_scripts = _names_scripts(record, failures)
    return [
        Table(
            caption=caption,
            columns=(
                *("Class", "Code", "Count", measure, "First message", "Statement"),
                *(["By script"] if names_scripts else []),
            ),
            rows=[
                (
                    one.failure_class.replace("_", " "),
                    one.code,
                    count(one.count),
                    measured(one),
                    one.message,
                    one.statement or NOTHING,
                    *([_by_script(one)] if names_scripts else []),
                )
                for one in sorted(failures, key=lambda one: -one.count)
            ],
            numeric=frozenset({2, 3}),
            code=frozenset({5}),
        )
    ]


def _names_scripts(record: RunRecord, failures: Sequence[FailureRecord]) -> bool:
    """Whether to say whose they were: of several scripts, unless the engine did not report it."""
    return len(record.scripts) > 1 and any(one.by_script for one in failures)


def _by_script(failure: FailureRecord) -> str:
    """``withdraw 120, deposit 3``."""
    counts = sorted(failure.by_script.items(), key=lambda item: -item[1])
    return ", ".join(f"{name} {count(number)}" for name, number in counts)


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
            columns=(
                *(title, "code", "count"),
                *(["by script"] if _names_scripts(record, failures) else []),
                "first message",
            ),
            rows=[
                (
                    one.failure_class.replace("_", " "),
                    one.code,
                    count(one.count),
                    *([_by_script(one)] if _names_scripts(record, failures) else []),
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
