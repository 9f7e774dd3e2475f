"""A load that was killed, or failed, is continued: the rows are those of one that was not."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest

from dbdyno import engine
from dbdyno.errors import DbdynoError
from dbdyno.run.data_preparation import load_summary
from dbdyno.workloads.base import Workload
from dbdyno.workloads.load_notes import fingerprint
from dbdyno.workloads.loading import LoadProgress
from dbdyno.workloads.preparing import LoadOptions, Place, Prepared, prepare_data
from dbdyno.workloads.registry import find_workload
from tests.reliability.matrix import ROWS
from tests.support.patience import PATIENCE_S, wait_until
from tests.support.program import Program
from tests.workloads.both_servers import KINDS, TPCC, Database, database_on
from tests.workloads.test_tpcc import NAMES, SMALL

SEED = 11
NOTES = "dbdyno_loading_tpcc"


@pytest.fixture(params=KINDS)
def empty(request: pytest.FixtureRequest) -> Iterator[Database]:
    with database_on(request.getfixturevalue(request.param), "tpcc_continued") as database:
        yield database


def sums(database: Database) -> dict[str, Any]:
    """Of the rows of each table, in whatever order."""
    if database.target.name == "mysql":
        tables = database.rows(f"checksum table {', '.join(NAMES)}")
        return {name.partition(".")[2]: checksum for name, checksum in tables}
    query = "select count(*), sum(hashtextextended(t::text, 0)::numeric) from {} t"
    return {name: database.rows(query.format(name)) for name in NAMES}


def load_command(database: Database, *words: str) -> list[str]:
    here = ("--target", database.server.url, "--seed", str(SEED), "--json")
    return [sys.executable, "-m", "dbdyno", "load", "tpcc", *here, *words]


def load(database: Database, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        load_command(database, *words), capture_output=True, text=True, check=False, timeout=300
    )


def begun(database: Database, *words: str) -> Program[str]:
    return Program(
        load_command(database, *words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@contextmanager
def held(database: Database, *tables: str) -> Iterator[None]:
    """Lock tables as soon as all are made and marked: the load gets as far as these."""
    wait_until(lambda: is_begun(database), "the tables")
    with closing(database.server.connect()) as holder:
        if database.target.name == "mysql":
            holder.execute("lock tables " + ", ".join(f"{name} write" for name in tables))
            yield
            holder.execute("unlock tables")
        else:
            with holder.transaction():
                holder.execute(f"lock table {', '.join(tables)} in access exclusive mode")
                yield


def is_begun(database: Database) -> bool:
    found = database.target.find_tables(database.connection, [*NAMES, NOTES])
    return NOTES in found and all(found[name].comment for name in NAMES if name in found)


def noted(database: Database) -> int:
    return int(database.one(f"select count(*) from {NOTES}"))


@pytest.mark.parametrize(
    ("first_jobs", "next_jobs", "tables", "pieces"),
    [("1", "1", ["item"], 1), ("3", "2", ["order_line"], 4)],
)
def test_a_load_that_was_killed_is_continued(
    empty: Database, first_jobs: str, next_jobs: str, tables: list[str], pieces: int
) -> None:
    """Each piece of a table is a transaction; on one connection each table is one piece."""
    assert load(empty, "-j", next_jobs).returncode == 0
    wanted = sums(empty)
    with begun(empty, "-j", first_jobs, "--replace") as process, held(empty, *tables):
        wait_until(lambda: noted(empty) >= pieces, "some pieces")
        process.kill()
        process.communicate(timeout=PATIENCE_S)
    for words, why in {
        ("-s", "2"): "its scale is 1",
        ("-D", "foreign_keys=on"): "not with the same parameters",
    }.items():
        refused = json.loads(load(empty, *words).stdout)["error"]
        assert refused["code"] == "data_in_the_way"
        assert why in refused["message"]
    ended = load(empty, "-j", next_jobs)
    ROWS["a load is killed, or fills the disk, and is repeated"].is_met_by(
        ended.returncode, ended.stderr
    )
    report = json.loads(ended.stdout)["load"]
    assert report["rows_before"] > 100_000
    assert report["rows"] > 100_000
    assert report["rows"] + report["rows_before"] == pytest.approx(599_011, rel=0.005)
    assert sums(empty) == wanted
    assert NOTES not in tables_of(empty)
    assert empty.prepare(TPCC).report is None
    assert empty.broken() == {}


def tables_of(database: Database) -> list[str]:
    schema = "database()" if database.target.name == "mysql" else "'public'"
    query = f"select table_name from information_schema.tables where table_schema = {schema}"
    return [name for (name,) in database.rows(query)]


def test_two_loads_at_once_load_nothing_twice(empty: Database) -> None:
    with begun(empty, "-j", "3") as first:
        with held(empty, "order_line"):
            wait_until(lambda: noted(empty) >= 4, "some pieces")
            second = begun(empty, "-j", "3")
            wait_until(lambda: waiting(empty) >= 1, "the other load")
        with second:
            out, _ = second.communicate(timeout=PATIENCE_S)
        assert second.returncode == 1
        error = json.loads(out)["error"]
        assert error["hint"] == "another load of these tables is in progress: wait for its end"
        out, err = first.communicate(timeout=PATIENCE_S)
        assert first.returncode == 0, err
    assert empty.broken() == {}
    assert empty.prepare(TPCC).report is None


def waiting(database: Database) -> int:
    """Sessions that wait for another's note."""
    if database.target.name == "mysql":
        return int(
            database.one(
                "select count(*) from information_schema.processlist "
                f"where info like 'insert into {NOTES}%'"
            )
        )
    return int(
        database.one(
            "select count(*) from pg_stat_activity "
            f"where wait_event_type = 'Lock' and query like 'insert into {NOTES}%'"
        )
    )


class EndedError(Exception):
    """The load ends here."""


def prepare(
    database: Database, workload: Workload = SMALL, *, until: str = "", **given: Any
) -> Prepared:
    """Load, but only until a phase begins; of ``fill``, until some rows are sent."""

    def watch(progress: LoadProgress) -> None:
        if progress.phase == until and (until != "fill" or progress.rows):
            raise EndedError

    return prepare_data(
        workload,
        given,
        Place(database.target, database.connection, database.server.endpoint()),
        bulk=engine.load,
        options=LoadOptions(seed=SEED, jobs=2),
        watch=watch,
    )


@pytest.mark.parametrize("phase", ["create", "fill", "tidy", "keys", "foreign keys", "mark"])
def test_in_whatever_phase_it_ended(empty: Database, phase: str) -> None:
    tpcb, given = find_workload("tpcb"), {"foreign_keys": True}
    until = empty.target.dialect.tidying if phase == "tidy" else phase
    with pytest.raises(EndedError):
        prepare(empty, tpcb, until=until, **given)
    prepared = prepare(empty, tpcb, **given)
    assert prepared.report is not None
    if phase != "fill":  # nobody knows how much of it was done
        assert (prepared.report.rows_before > 0) == (phase != "create")
    if prepared.report.rows_before:
        assert " rows more, where " in load_summary(prepared.report)
    assert prepare(empty, tpcb, **given).report is None
    assert empty.one("select count(*) from pgbench_accounts") == 100_000
    found = empty.target.find_tables(empty.connection, ["pgbench_history", "pgbench_tellers"])
    assert [len(found[name].foreign_keys) for name in sorted(found)] == [3, 1]


def test_keys_that_were_not_made_yet_are_made(empty: Database) -> None:
    with pytest.raises(EndedError):
        prepare(empty, until="mark")
    is_mysql = empty.target.name == "mysql"
    empty.connection.execute("drop index customer_name" + " on customer" * is_mysql)
    empty.connection.execute("alter table orders drop constraint orders_customer")
    prepare(empty)
    found = empty.target.find_tables(empty.connection, ["customer", "orders"])
    assert ("c_w_id", "c_d_id", "c_last", "c_first") in found["customer"].indexes
    assert ("o_w_id", "o_d_id", "o_c_id", "o_id") in found["orders"].unique_keys


def test_without_notes_it_is_replaced_or_refused(empty: Database) -> None:
    """Those of an older version, or somebody has dropped the table."""
    with pytest.raises(EndedError):
        prepare(empty, until="keys")
    empty.connection.execute(f"drop table {NOTES}")
    with pytest.raises(DbdynoError, match="its loading was interrupted") as caught:
        prepare(empty)
    assert "--replace drops warehouse" in caught.value.hint
    empty.prepare(SMALL, replace=True)
    assert NOTES not in tables_of(empty)


def test_progress_goes_on_from_what_is_there(empty: Database) -> None:
    with pytest.raises(EndedError):
        prepare(empty, until=empty.target.dialect.tidying)
    seen: list[LoadProgress] = []
    prepare_data(
        SMALL,
        {},
        Place(empty.target, empty.connection, empty.server.endpoint()),
        bulk=engine.load,
        options=LoadOptions(seed=SEED, jobs=2),
        watch=seen.append,
    )
    rows = [progress.rows for progress in seen if progress.phase == "fill"]
    assert rows[-1] == pytest.approx(seen[-1].rows_total, rel=0.01)


def test_the_time_of_a_load_does_not_keep_it_from_being_continued() -> None:
    volume = find_workload("volume")
    tables, later, more = (
        volume.tables(volume.complete({"rows": rows})) for rows in (1000, 1000, 1001)
    )
    assert tables != later
    assert fingerprint(tables, SEED) == fingerprint(later, SEED)
    assert fingerprint(tables, SEED) not in {fingerprint(more, SEED), fingerprint(tables, 12)}
