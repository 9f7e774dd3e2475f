import json
import os
import shutil
import tempfile
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import numpy as np
import pytest
from msgspec.structs import replace

from dbdyno.model.plan import Stage
from dbdyno.model.record import ClientCost, Latency, Throughput, TransactionCounts
from dbdyno.model.run import TABLES
from dbdyno.store.errors import LeftOut, StoreError
from dbdyno.store.files import replace_json
from dbdyno.store.listing import find_run
from dbdyno.store.query import sql
from dbdyno.store.run import open_run
from dbdyno.store.studies import find_study_folder
from dbdyno.store.summary import list_runs
from dbdyno.store.writer import RunWriter
from tests.store import synthetic
from tests.store.test_run_folder import write_run


@pytest.fixture
def home(tmp_path, frames):
    write_run(tmp_path, frames, workload="tpcb", tags={"disk": "nvme"})
    write_run(tmp_path, frames, workload="pk")
    return tmp_path


def test_a_run_is_found_by_path_id_part_and_last(home):
    pk, tpcb = sorted(home.glob("runs/2*"), key=lambda folder: "tpcb" in folder.name)
    assert find_run(str(pk), home) == pk
    assert find_run(pk.name, home) == pk
    assert find_run(tpcb.name[:17], home) == tpcb
    assert find_run(tpcb.name[-6:], home) == tpcb  # four digits may occur in the other's time
    assert find_run("-tpcb-", home) == tpcb
    assert find_run("last", home) == max(pk, tpcb)
    assert find_run("last~1", home) == min(pk, tpcb)


@pytest.mark.parametrize(
    ("named", "code"),
    [("20", "ambiguous_run"), ("nothing", "no_run"), ("last~2", "no_run"), ("", "no_run")],
)
def test_a_run_that_is_not_found_is_explained(home, named, code):
    with pytest.raises(StoreError) as caught:
        find_run(named, home)
    assert caught.value.code == code


@contextmanager
def without_roots_rights():
    """Root may read everything: within the block, this process runs as nobody."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65_534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.parametrize("closed", ["", "run.json"])
def test_a_run_of_another_account_hides_no_other(frames, closed):
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        kept, others = write_run(home, frames), write_run(home, frames)
        for path in (home, *home.rglob("*")):
            path.chmod(0o755)
        (home / "runs" / others / closed).chmod(0)
        with without_roots_rights(), pytest.warns(LeftOut, match=f"{others} is left out"):
            assert [run.run_id for run in list_runs(home)] == [kept]
        (home / "runs" / others / closed).chmod(0o755)


def test_what_older_folders_did_not_distinguish_was_all_committed(home):
    folder = find_run("last", home)
    for name, column, of in (
        ("intervals", "completed_committed", "completed_ok"),
        ("intervals", "committed", "ok"),
        ("scripts", "committed", "ok"),
    ):
        path = folder / f"{name}.parquet"
        older = folder / "older.parquet"
        duckdb.sql(f"COPY (SELECT * EXCLUDE ({column}) FROM '{path}') TO '{older}'")
        older.replace(path)
        columns = open_run(folder).columns(name)
        assert columns[column].tolist() == columns[of].tolist()
        query = f"select sum({column}), sum({of}) from {name} where run_id = '{folder.name}'"
        ((committed, ok),) = sql(query, home).fetchall()
        assert committed == ok > 0


def test_what_older_folders_did_not_count_is_unknown(home):
    folder = find_run("last", home)
    path, older = folder / "statements.parquet", folder / "older.parquet"
    lacking = "rows, executions_without_rows"
    duckdb.sql(f"COPY (SELECT * EXCLUDE ({lacking}) FROM '{path}') TO '{older}'")
    older.replace(path)
    statements = open_run(folder).columns("statements")
    assert statements["count"].sum() > 0
    assert np.isnan(statements["rows"]).all()
    assert np.isnan(statements["executions_without_rows"]).all()
    query = f"select count(rows), count(*) from statements where run_id = '{folder.name}'"
    ((known, all_rows),) = sql(query, home).fetchall()
    assert known == 0 < all_rows


def test_studies_are_meant_by_the_same_words(tmp_path):
    first, second = (tmp_path / "studies" / f"20261120-21420{at}-ab-3f2{at}" for at in (1, 2))
    for folder in (first, second):
        folder.mkdir(parents=True)
        (folder / "study.json").write_text("{}")
    assert find_study_folder("last", tmp_path) == find_study_folder("3f22", tmp_path) == second
    assert find_study_folder("last~1", tmp_path) == find_study_folder(first.name, tmp_path) == first
    assert find_study_folder(str(first), tmp_path) == first
    with pytest.raises(StoreError, match="'ab' matches 2 studies: ") as caught:
        find_study_folder("ab", tmp_path)
    assert caught.value.code == "ambiguous_study"
    with pytest.raises(
        StoreError, match=r"last~2 is too far back: only 2 studies are kept\."
    ) as caught:
        find_study_folder("last~2", tmp_path)
    assert caught.value.code == "no_study"


def test_a_single_study_is_counted_as_one(tmp_path):
    folder = tmp_path / "studies" / "20261120-214201-ab-3f21"
    folder.mkdir(parents=True)
    (folder / "study.json").write_text("{}")
    with pytest.raises(StoreError, match=r"last~1 is too far back: only 1 study is kept\."):
        find_study_folder("last~1", tmp_path)


def test_without_runs_the_hint_names_the_command_that_makes_one(tmp_path):
    with pytest.raises(StoreError) as caught:
        find_run("last", tmp_path)
    assert "dbdyno run" in caught.value.hint


def test_the_list_is_newest_first_with_tags_and_age(home):
    runs = list_runs(home)
    assert [run.run_id for run in runs] == sorted((run.run_id for run in runs), reverse=True)
    assert {run.workload: run.tags for run in runs} == {"tpcb": {"disk": "nvme"}, "pk": {}}
    began = datetime.fromisoformat(synthetic.record().started_at)
    assert runs[0].age(began + timedelta(hours=2)) == timedelta(hours=2)
    assert runs[0].age() == pytest.approx(datetime.now(UTC) - began, abs=timedelta(seconds=5))


def test_sql_sees_finished_and_running_runs_alike(home):
    with RunWriter(synthetic.record(workload="live"), synthetic.plan(), home) as writer:
        for frame in synthetic.packed(synthetic.Shape(seconds=3, warmup=0, tps=50, done=False)):
            writer.append_frame(frame)
        rows = sql(
            "SELECT workload, status, count(*) AS n, max(scripts.p99_ms) > 0 "
            "FROM scripts JOIN runs USING (run_id) GROUP BY ALL ORDER BY workload",
            home,
        ).fetchall()
    assert rows == [
        ("live", "running", 3, True),
        ("pk", "done", 14, True),
        ("tpcb", "done", 14, True),
    ]


def test_sql_lists_the_tables_and_no_other(home):
    listed = {name for (name,) in sql("SHOW TABLES", home).fetchall()}
    assert listed == {"runs", *TABLES, "buckets"}


def test_sql_distinguishes_servers(tmp_path):
    for version in ("17.11", "18.6"):
        known = synthetic.record(server={"product": "postgres", "version": version})
        RunWriter(known, synthetic.plan(), tmp_path).close()
    query = "SELECT product, version FROM runs ORDER BY version"
    assert sql(query, tmp_path).fetchall() == [("postgres", "17.11"), ("postgres", "18.6")]


def test_sql_without_runs_has_all_tables(tmp_path):
    assert sql("SELECT count(*) FROM statements, slowest, buckets", tmp_path).fetchall() == [(0,)]


def test_missing_percentiles_are_null_in_sql(home):
    assert sql("SELECT count(*) FROM scripts WHERE isnan(p99_ms)", home).fetchall() == [(0,)]


def test_counts_of_intervals_can_be_summed(home):
    """In the files they are cumulative."""
    query = "SELECT run_id, sum(ok), max(ok_so_far), min(ok) FROM intervals GROUP BY run_id"
    for run_id, added, so_far, least in sql(query, home).fetchall():
        filed = open_run(run_id, home).columns("intervals")["ok"]
        assert (added, so_far, least) == (filed[-1], filed[-1], 0)
        assert filed.sum() > added


def test_failures_of_intervals_can_be_summed(home):
    query = "SELECT sum(count), max(count_so_far) FROM failures GROUP BY run_id, class, code"
    summed = sql(query, home).fetchall()
    assert summed
    assert all(added == so_far for added, so_far in summed)


@pytest.mark.parametrize(
    "query",
    [
        "drop table runs",
        "create table x as select 1",
        "copy runs to 'x.csv'",
        "explain analyze copy runs to 'x.csv'",
        "select 1; drop table runs",
        "set threads = 1",
        "",
    ],
)
def test_all_but_reading_is_refused(home, query):
    with pytest.raises(StoreError, match="read-only"):
        sql(query, home)


def test_a_pivot_is_reading(home):
    query = "PIVOT (SELECT run_id, phase FROM intervals) ON phase USING count(*)"
    assert len(sql(query, home).fetchall()) == 2


def test_a_wrong_query_names_the_tables(home):
    with pytest.raises(StoreError) as caught:
        sql("SELECT * FROM nowhere", home)
    assert "intervals" in caught.value.hint


def test_a_failing_conversion_in_sql_is_an_error_too(home):
    with pytest.raises(StoreError, match="Could not convert string"):
        sql("SELECT workload::int FROM runs", home)


def test_instants_need_no_package_for_time_zones(home):
    """They are in UTC, as ``started_at`` is."""
    [[began, text]] = sql(
        'SELECT started_at::timestamptz AS "a ", started_at FROM runs LIMIT 1', home
    ).fetchall()
    assert began.isoformat() + "+00:00" == text


def test_a_frame_is_columns_where_no_data_frame_library_is_installed(home, monkeypatch):
    monkeypatch.setattr("dbdyno.store.run.find_spec", lambda name: None)
    frame = open_run("last", home).frame("intervals")
    assert frame["interval"].tolist() == list(range(14))


def test_a_table_is_an_attribute_and_so_are_its_columns(home):
    run = open_run("last", home)
    assert run.intervals.interval.tolist() == list(range(14))
    for name, kind in TABLES.items():
        assert len(getattr(run, name)) == len(next(iter(run.columns(name).values())))
        assert isinstance(getattr(run, name), kind)


def test_a_misspelt_table_or_column_is_an_error(home):
    run = open_run("last", home)
    with pytest.raises(AttributeError):
        _ = run.interval
    with pytest.raises(AttributeError):
        _ = run.intervals.complete_ok


def test_a_table_that_is_not_there_names_those_that_are(home):
    with pytest.raises(StoreError) as caught:
        open_run("last", home).columns("interval")
    assert "intervals" in caught.value.hint


def test_a_table_can_be_described(home):
    columns = [row[0] for row in sql("describe intervals", home).fetchall()]
    assert columns[:3] == ["run_id", "interval", "phase"]


def measured_record():
    """A record whose numbers are all different."""
    names = ("mean", "p50", "p90", "p95", "p99", "p999", "p9999", "max")
    return synthetic.record(
        status="done",
        valid=True,
        server={"product": "postgres", "promise": "full", "cpu_us_per_transaction": 31.0},
        transactions=TransactionCounts(ok=900, failed=7, skipped=0, unfinished=0, retried=5),
        throughput_tps=Throughput(
            value=90.0,
            low=80.0,
            high=99.0,
            min=None,
            max=None,
            samples=10,
            samples_effective=None,
            coefficient_of_variation=None,
        ),
        response_ms=Latency(**{name: float(place) for place, name in enumerate(names, start=1)}),
        client=ClientCost(cpu_us_per_transaction=8.5),
    )


def finished(home, plan):
    with RunWriter(synthetic.record(), plan, home) as writer:
        synthetic.finish(writer, measured_record())
    return writer.folder


def test_sql_chooses_runs_by_their_conditions_and_main_numbers(tmp_path):
    one_rate = [Stage(duration_ns=1, rate_tps=500.0)]
    finished(tmp_path, replace(synthetic.plan(), stages=one_rate))
    query = (
        "SELECT promise, clients, rate_tps, query_mode, ok, failed, retried, tps, tps_low,"
        " tps_high, mean_ms, p50_ms, p95_ms, p99_ms, p999_ms, max_ms, server_cpu_us,"
        " engine_cpu_us, valid FROM runs WHERE valid AND clients = 8 AND failed < ok"
    )
    [row] = sql(query, tmp_path).fetchall()
    assert row[:10] == ("full", 8, 500.0, "prepared", 900, 7, 5, 90.0, 80.0, 99.0)
    assert row[10:] == (1.0, 2.0, 4.0, 5.0, 6.0, 8.0, 31.0, 8.5, True)


def test_unknown_properties_of_a_run_are_null_in_sql(tmp_path):
    rising = [Stage(duration_ns=1, rate_tps=500.0), Stage(duration_ns=1, rate_tps=900.0)]
    finished(tmp_path, replace(synthetic.plan(), stages=rising))
    damaged = finished(tmp_path, synthetic.plan())
    (damaged / "plan.json").write_text("{", encoding="utf-8")
    RunWriter(synthetic.record(), synthetic.plan(), tmp_path).close()
    query = "SELECT clients, rate_tps, ok, p95_ms FROM runs ORDER BY ALL"
    assert sql(query, tmp_path).fetchall() == [
        (8, None, 900, 4.0),
        (8, None, None, None),
        (None, None, 900, 4.0),
    ]


def test_a_damaged_run_does_not_hide_the_others_from_sql(home):
    with RunWriter(synthetic.record(workload="damaged"), synthetic.plan(), home) as writer:
        writer.append_frame(b"\x00 no frame")
    with pytest.warns(LeftOut, match=f"{writer.run_id} is left out: Frame 0"):
        assert sql("SELECT count(*) FROM intervals", home).fetchall() == [(28,)]


def test_the_index_of_runs_is_never_the_truth(home):
    """It follows changed, new and removed folders, and is made again if lost or damaged."""
    index = home / "runs" / ".index"
    listed = list_runs(home)
    assert index.exists()
    for damage in (b"", b"\x93 no index", index.read_bytes()[:-5]):
        index.write_bytes(damage)
        assert list_runs(home) == listed
    index.unlink()
    assert list_runs(home) == listed

    newest = home / "runs" / listed[0].run_id
    record = json.loads((newest / "run.json").read_text())
    replace_json(newest / "run.json", record | {"workload": "renamed"})
    assert list_runs(home)[0].workload == "renamed"
    shutil.copytree(newest, newest.with_name(f"{newest.name}-copy"))
    assert [run.run_id for run in list_runs(home)][:2] == [f"{newest.name}-copy", newest.name]
    shutil.rmtree(newest.with_name(f"{newest.name}-copy"))
    assert [run.run_id for run in list_runs(home)] == [run.run_id for run in listed]


def test_a_run_that_goes_on_is_not_taken_from_the_index(home):
    with RunWriter(synthetic.record(workload="live"), synthetic.plan(), home) as writer:
        for _ in range(2):
            assert {run.run_id: run.status for run in list_runs(home)}[writer.run_id] == "running"
    assert {run.run_id: run.status for run in list_runs(home)}[writer.run_id] == "interrupted"


def test_the_index_cannot_be_written(home, monkeypatch):
    def refuse(*_arguments):
        raise PermissionError("a home that may only be read")

    listed = list_runs(home)
    (home / "runs" / ".index").unlink()
    monkeypatch.setattr("dbdyno.store.summary.replace_bytes", refuse)
    assert list_runs(home) == listed
