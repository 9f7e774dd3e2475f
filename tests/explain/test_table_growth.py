"""Tables that grow by more than their rows."""

import pytest

from dbdyno.explain.rule import NotFound
from tests.explain.made import facts, made_run, table
from tests.explain.rule_outcomes import outcome_of

UPDATE = "UPDATE accounts SET balance = balance + :delta WHERE id = :id;"
THIN = "\u202f"


def growing(*, to=40, inserted=0, rows=80_000):
    run = made_run(UPDATE).facts(facts(table(rows=rows, row_bytes=100)))
    sizes = [(20 + (to - 20) * place / 62) * 2**20 for place in range(63)]
    run.levels("sizes", {"bytes": sizes}, of="accounts")
    return run.counters("pg_stat_user_tables", {"n_tup_ins": inserted / 60}, of="accounts")


def test_growth_that_no_row_explains():
    found = outcome_of("table_growth", growing())
    assert found.severity == "minor"
    assert found.summary.startswith(f"accounts grew from 20.6{THIN}MiB to 40{THIN}MiB in ")
    assert found.evidence["time_to_double_s"] == pytest.approx(120, rel=0.1)


def test_growth_by_new_rows_and_no_growth_are_nothing():
    # The 20 MiB that were added are 160 000 rows of 128 bytes.
    assert isinstance(outcome_of("table_growth", growing(inserted=165_000)), NotFound)
    assert isinstance(outcome_of("table_growth", growing(to=20.5)), NotFound)


def test_a_table_that_no_statement_names_has_unknown_row_width():
    """Written by a trigger or a function: its new rows are counted, and are no bloat."""
    run = growing().facts(facts(table("others")))
    assert outcome_of("table_growth", run).evidence["bytes_of_new_rows"] == 0
    run.counters("pg_stat_user_tables", {"n_tup_ins": 1000}, of="accounts")
    assert isinstance(outcome_of("table_growth", run), NotFound)


def test_rows_of_unknown_width_are_not_called_bloat():
    assert isinstance(outcome_of("table_growth", growing(inserted=1000, rows=0)), NotFound)
    assert outcome_of("table_growth", growing(rows=0)).evidence["bytes_of_new_rows"] == 0
