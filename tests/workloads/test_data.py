"""What is done with data that exists, and with data that does not."""

from collections.abc import Iterator
from typing import Any

import pytest
from psycopg import Connection

from dbdyno.errors import DbdynoError
from dbdyno.model.frame import Progress
from dbdyno.model.plan import LoadPlan
from dbdyno.workloads.loading import LoadProgress
from tests.workloads.conftest import Prepare, no_rows


def refusal(prepare: Prepare, name: str, **given: Any) -> DbdynoError:
    with pytest.raises(DbdynoError) as caught:
        prepare(name, bulk=no_rows, **given)
    assert caught.value.code == "data_in_the_way"
    assert "--replace drops " in caught.value.hint
    return caught.value


def test_absent_data_is_loaded_then_reused(prepare: Prepare) -> None:
    first = prepare("tpcb")
    assert first.report is not None
    assert first.report.rows == 100_011
    names = ["create", "fill", "vacuum", "keys", "foreign keys", "mark"]
    assert [phase.name for phase in first.report.phases] == names
    second = prepare("simple-update")
    assert second.report is None
    assert second.is_loaded_by_dbdyno


def test_progress_counts_all_rows(prepare: Prepare) -> None:
    seen: list[LoadProgress] = []
    prepare("tpcb", watch=seen.append)
    filling = [progress for progress in seen if progress.phase == "fill" and progress.rows]
    assert [progress.rows for progress in filling] == [1, 11, 50_011, 100_011]
    assert filling[-1].rows_total == 100_011
    assert filling[-1].left_s == 0
    assert filling[2].rows_per_s > 0


def test_another_scale_is_refused_by_both_names(prepare: Prepare) -> None:
    prepare("tpcb", bulk=no_rows, scale=3)
    assert "its scale is 3, and 5 was requested" in refusal(prepare, "tpcb", scale=5).message


def test_a_refusal_names_all_tables_that_would_be_dropped(prepare: Prepare) -> None:
    prepare("oltp_read_write", bulk=no_rows, tables=1)
    refused = refusal(prepare, "oltp_read_write", tables=3, table_size=7)
    assert refused.hint.startswith("--replace drops sbtest1, sbtest2, sbtest3 and loads")


@pytest.mark.parametrize(
    ("name", "value"),
    [("fillfactor", 70), ("unlogged", "on"), ("partitions", 2), ("foreign_keys", True)],
)
def test_requested_storage_must_exist(prepare: Prepare, name: str, value: Any) -> None:
    prepare("tpcb", bulk=no_rows)
    assert f"not made with {name}" in refusal(prepare, "tpcb", **{name: value}).message


def test_storage_that_was_not_requested_may_be_anything(prepare: Prepare) -> None:
    prepare("tpcb", fillfactor=70, partitions=2)
    assert prepare("tpcb", bulk=no_rows, fillfactor=70).report is None
    assert prepare("tpcb", bulk=no_rows).report is None


def test_replace_drops_and_reloads(prepare: Prepare, connection: Connection) -> None:
    prepare("tpcb", bulk=no_rows, scale=3)
    connection.execute("create table other (id int)")
    replaced = prepare("tpcb", scale=1, replace=True)
    assert replaced.report is not None
    assert replaced.report.phases[0].name == "drop"
    assert prepare("tpcb", bulk=no_rows).values["scale"] == 1
    assert connection.execute("select count(*) from other").fetchone() == (0,)


def test_replace_drops_no_view(prepare: Prepare, connection: Connection) -> None:
    connection.execute("create view pgbench_accounts as select 1 as aid")
    with pytest.raises(DbdynoError) as caught:
        prepare("tpcb", bulk=no_rows, replace=True)
    assert caught.value.code == "not_a_table"
    with pytest.raises(DbdynoError) as caught:
        prepare("tpcb", bulk=no_rows)
    assert caught.value.code == "not_a_table"  # without the advice to replace it


def test_replace_stops_at_what_others_built_on_it(prepare: Prepare, connection: Connection) -> None:
    prepare("tpcb", bulk=no_rows)
    connection.execute("create view rich as select * from pgbench_accounts where abalance > 0")
    with pytest.raises(DbdynoError) as caught:
        prepare("tpcb", bulk=no_rows, replace=True)
    assert caught.value.code == "table_needed"
    assert "view rich depends on table pgbench_accounts" in caught.value.message


def test_a_load_cut_short_is_no_data(prepare: Prepare) -> None:
    def cut_short(plan: LoadPlan) -> Iterator[Progress]:
        yield Progress(table=plan.tables[0].name, rows=0, rows_total=1)
        raise DbdynoError("engine_lost", "the engine is gone")

    with pytest.raises(DbdynoError, match="the engine is gone"):
        prepare("tpcb", bulk=cut_short)
    refused = refusal(prepare, "tpcb", fillfactor=70)
    assert "its loading was interrupted, and not with the same parameters" in refused.message
    prepared = prepare("tpcb")
    assert prepared.report is not None
    assert prepared.report.rows == 100_011


def test_a_limit_on_the_time_of_statements_does_not_end_a_load(
    prepare: Prepare, connection: Connection
) -> None:
    plans: list[LoadPlan] = []

    def look(plan: LoadPlan) -> list[Progress]:
        plans.append(plan)
        return []

    prepare("tpcb", bulk=look)
    for table in plans[0].tables:
        with connection.transaction(force_rollback=True):
            connection.execute("set local statement_timeout = '1min'")
            for statement in table.before:
                connection.execute(statement.encode())
            assert connection.execute("show statement_timeout").fetchone() == ("0",)


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("create table pgbench_accounts (aid int)", "without pgbench_branches"),
    ],
)
def test_somebody_elses_table_of_that_name(
    prepare: Prepare, connection: Connection, statement: str, why: str
) -> None:
    connection.execute(statement)  # type: ignore[call-overload]
    assert why in refusal(prepare, "tpcb").message


def test_other_columns_are_refused(prepare: Prepare, connection: Connection) -> None:
    prepare("tpcb", bulk=no_rows)
    connection.execute("alter table pgbench_tellers add column note text")
    assert "pgbench_tellers has other columns" in refusal(prepare, "tpcb").message


def test_a_missing_key_is_refused(prepare: Prepare, connection: Connection) -> None:
    prepare("tpcb", bulk=no_rows)
    connection.execute("alter table pgbench_accounts drop constraint pgbench_accounts_pkey")
    assert "primary key (aid)" in refusal(prepare, "tpcb").message


def test_a_table_that_dbdyno_did_not_make_is_not_touched(
    prepare: Prepare, connection: Connection
) -> None:
    connection.execute(
        "create table tbl (id serial primary key, info text, crt_time timestamptz default now())"
    )
    connection.execute("insert into tbl (info) values ('precious')")
    assert "tbl was not made by dbdyno" in refusal(prepare, "pk").message
    assert connection.execute("select info from tbl").fetchall() == [("precious",)]


def test_pk_numbers_go_on_after_the_loaded_rows(prepare: Prepare, connection: Connection) -> None:
    prepare("pk", operation="insert")
    connection.execute("insert into tbl (info) values ('hello world')")
    query = "select count(*), max(id), max(length(info)), min(crt_time) > now() - '1 h'::interval"
    assert connection.execute(f"{query} from tbl").fetchone() == (100_001, 100_001, 32, True)


def test_rows_of_pk_are_as_wide_as_published(prepare: Prepare, connection: Connection) -> None:
    prepare("pk")
    row = connection.execute("select pg_relation_size('tbl')").fetchone()
    assert row is not None
    assert row[0] / 100_000 == pytest.approx(3634 * 2**20 / 50_000_000, rel=0.02)


def test_no_rights_are_named(prepare: Prepare, connection: Connection) -> None:
    connection.execute("create role nobody_much")
    connection.execute("revoke create on schema public from public")
    connection.execute("set role nobody_much")
    try:
        with pytest.raises(DbdynoError) as caught:
            prepare("tpcb", bulk=no_rows)
    finally:
        connection.execute("reset role")
        connection.execute("drop role nobody_much")
    assert caught.value.code == "no_rights"
    assert "permission denied for schema public" in caught.value.message
