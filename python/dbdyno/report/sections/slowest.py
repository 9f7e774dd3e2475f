"""The slowest transactions that were kept, with the statement that took most of each."""

from collections.abc import Mapping, Sequence

import numpy as np

from dbdyno.formatting import count, milliseconds, percent, seconds
from dbdyno.model.run import Run
from dbdyno.model.tables import Slowest, rows
from dbdyno.report.content import Block, Section, Table
from dbdyno.report.sections.statements import in_one_line

_ROWS_MAX = 20
_SQL_LENGTH = 90


def build(run: Run) -> Sequence[Block]:
    """At most twenty, slowest first. The engine keeps a few of each interval."""
    slowest, texts = run.slowest, run.statement_texts
    sql = dict(rows(texts.statement, texts.sql))
    measured = np.flatnonzero(slowest.time_s >= 0)
    order = measured[np.argsort(-slowest.response_ms[measured], kind="stable")][:_ROWS_MAX]
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
            rows=[_row(slowest, place, sql) for place in order],
            numeric=frozenset({0, 1, 2, 3, 4, 5}),
            code=frozenset({6}),
        )
    ]


def _row(slowest: Slowest, place: int, sql: Mapping[int, str]) -> tuple[str, ...]:
    response_ms = float(slowest.response_ms[place])
    share = text = ""
    if steps := slowest.statements[place]:
        most = max(steps, key=lambda step: step["ms"])
        share = percent(min(most["ms"] / max(response_ms, 1e-9), 1.0))
        text = in_one_line(sql.get(most["statement"], ""), _SQL_LENGTH)
    return (
        seconds(float(slowest.time_s[place])),
        str(slowest.client[place]),
        milliseconds(response_ms),
        milliseconds(float(slowest.service_ms[place])),
        count(slowest.tries[place]),
        share,
        text,
    )


SECTION = Section(id="slowest", title="Slowest transactions", build=build)
