"""The slowest transactions that were kept, with the statement that took most of each."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dbdyno.formatting import count, milliseconds, percent, seconds
from dbdyno.report.content import Block, Section, Subject, Table
from dbdyno.report.sections.statements import shortened

_ROWS_MAX = 20
_SQL_LENGTH = 90


def build(subject: Subject) -> Sequence[Block]:
    """At most twenty, slowest first. The engine keeps a few of each interval."""
    slowest = subject.recording.tables["slowest"]
    texts = subject.recording.tables["statement_texts"]
    sql = dict(zip(texts["statement"].tolist(), texts["sql"].tolist(), strict=True))
    measured = np.flatnonzero(slowest["time_s"] >= 0)
    order = measured[np.argsort(-slowest["response_ms"][measured], kind="stable")][:_ROWS_MAX]
    if not len(order):
        return []
    return [
        Table(
            caption=f"The {len(order)} slowest transactions",
            columns=(
                "Due",
                "Client",
                "Response",
                "Service",
                "Tries",
                "Share",
                "Slowest statement",
            ),
            rows=[_row({name: column[i] for name, column in slowest.items()}, sql) for i in order],
            numeric=frozenset({0, 1, 2, 3, 4, 5}),
            code=frozenset({6}),
        )
    ]


def _row(slow: Mapping[str, Any], sql: Mapping[int, str]) -> tuple[str, ...]:
    share, text = _slowest_statement(slow, sql)
    return (
        seconds(float(slow["time_s"])),
        str(slow["client"]),
        milliseconds(float(slow["response_ms"])),
        milliseconds(float(slow["service_ms"])),
        count(slow["tries"]),
        share,
        text,
    )


def _slowest_statement(slow: Mapping[str, Any], sql: Mapping[int, str]) -> tuple[str, str]:
    steps = list(slow["statements"])
    if not steps:
        return "", ""
    most = max(steps, key=lambda step: step["ms"])
    share = most["ms"] / max(float(slow["response_ms"]), 1e-9)
    return percent(min(share, 1.0)), shortened(sql.get(most["statement"], ""), _SQL_LENGTH)


SECTION = Section(id="slowest", title="Slowest transactions", order=60, build=build)
