"""The table of what a run's events cost, in words where there is no number."""

import pytest
from msgspec.structs import replace

from dbdyno.model.record import FailoverRecord
from dbdyno.report.sections.failovers import summary
from tests.analysis.records import record


@pytest.mark.parametrize(
    ("level_90_ms", "text"), [(0.0, "never below"), (None, "–"), (1250.0, "1.25 s")]
)
def test_a_level_that_was_never_gone_is_not_regained(level_90_ms, text):
    one = FailoverRecord(event="exec:true", at_s=4.2, level_tps=1000.0, level_90_ms=level_90_ms)
    (table,) = summary(replace(record(1000), failovers=[one]))
    row = dict(zip(table.columns, table.rows[0], strict=True))
    assert row["90 % level"].replace("\u202f", " ") == text
