"""Tables of many runs in few files, which are only derived from the run folders."""

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dbdyno.home import locked
from dbdyno.store import merged
from dbdyno.store.errors import LeftOut
from dbdyno.store.listing import remove_run
from dbdyno.store.query import sql
from tests.store.test_run_folder import write_run

SUMS = "select run_id, count(*), sum(ok) from intervals group by all order by all"


@pytest.fixture
def home(tmp_path: Path, frames, monkeypatch) -> Path:
    """A home with three finished runs, where two are many."""
    monkeypatch.setattr(merged, "FEWEST", 2)
    for workload in ("tpcb", "pk", "app"):
        write_run(tmp_path, frames, workload=workload)
    return tmp_path


def runs_of(home: Path) -> list[Path]:
    return sorted(home.glob("runs/2*"))


def files_of(home: Path) -> list[Path]:
    return sorted(home.glob("runs/.tables/intervals/*.parquet"))


def answer(home: Path) -> list[tuple]:
    return sql(SUMS, home).fetchall()


def read_apart(home: Path, monkeypatch) -> list[tuple]:
    """The answer from the run folders alone."""
    with monkeypatch.context() as patch:
        patch.setattr(merged, "FEWEST", 1000)
        shutil.rmtree(home / "runs" / ".tables", ignore_errors=True)
        return answer(home)


def test_merged_rows_are_those_of_the_folders(home, monkeypatch):
    apart = read_apart(home, monkeypatch)
    assert len(apart) == 3
    assert not files_of(home)
    assert answer(home) == apart
    assert len(files_of(home)) == 1
    assert answer(home) == apart


def test_every_column_keeps_its_type_and_values(home, monkeypatch):
    query = "from intervals order by run_id, interval"
    with monkeypatch.context() as patch:
        patch.setattr(merged, "FEWEST", 1000)
        apart = sql(query, home)
        types, rows = apart.types, apart.fetchall()
    for _ in range(2):
        found = sql(query, home)
        assert (found.types, found.fetchall()) == (types, rows)
    assert files_of(home)


def test_a_merged_file_is_read_and_not_the_folders(home):
    before = answer(home)
    for folder in runs_of(home):
        path = folder / "intervals.parquet"
        stamp = path.stat()
        content = path.read_bytes()
        path.write_bytes(content[:4] + bytes(len(content) - 4))  # in place: the number stays
        os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert answer(home) == before


def test_new_runs_are_read_beside_the_merged_ones(home, frames):
    answer(home)
    write_run(home, frames, workload="later")
    found = answer(home)
    assert [run_id for run_id, *_ in found] == [folder.name for folder in runs_of(home)]
    assert len(files_of(home)) == 1
    write_run(home, frames, workload="latest")
    assert len(answer(home)) == 5
    assert len(files_of(home)) == 2


def test_a_changed_table_is_read_again(home):
    before = {run_id: rest for run_id, *rest in answer(home)}
    changed, kept, *_ = runs_of(home)
    shutil.copy(changed / "intervals.parquet", changed / "old")
    sql("from intervals limit 3", home).write_parquet(str(changed / "intervals.parquet"))
    after = {run_id: rest for run_id, *rest in answer(home)}
    assert after[changed.name][0] == 3
    assert after[kept.name] == before[kept.name]
    (changed / "old").replace(changed / "intervals.parquet")
    assert {run_id: rest for run_id, *rest in answer(home)} == before


def test_the_rows_of_a_removed_run_are_nowhere(home):
    answer(home)
    removed, gone, kept = runs_of(home)
    remove_run(removed.name, home)
    assert not files_of(home)
    answer(home)
    assert len(files_of(home)) == 1
    shutil.rmtree(gone)  # by hand
    assert [run_id for run_id, *_ in answer(home)] == [kept.name]
    assert not files_of(home)


@pytest.mark.parametrize("damage", ["empty", "cut", "end", "middle", "other"])
def test_a_damaged_file_costs_nothing(home, damage):
    before = answer(home)
    (path,) = files_of(home)
    content = path.read_bytes()
    path.write_bytes(
        {
            "empty": b"",
            "cut": content[: len(content) // 2],
            "end": content[:-20] + bytes(20),
            "middle": content[:4] + bytes(200) + content[204:],
            "other": (runs_of(home)[0] / "scripts.parquet").read_bytes(),
        }[damage]
    )
    assert answer(home) == before
    assert answer(home) == before
    (mended,) = files_of(home)
    assert mended != path


def test_a_damaged_run_is_left_out_and_the_others_are_merged(home):
    damaged, *others = runs_of(home)
    (damaged / "intervals.parquet").write_bytes(b"PAR1 no table")
    for _ in range(2):
        with pytest.warns(LeftOut, match=damaged.name):
            found = answer(home)
        assert [run_id for run_id, *_ in found] == [folder.name for folder in others]
        assert len(files_of(home)) == 1


def test_while_another_process_merges_the_folders_are_read(home):
    place = home / "runs" / ".tables" / "intervals"
    place.mkdir(parents=True)
    with locked(place / "lock"):
        assert len(answer(home)) == 3
        assert not files_of(home)
    answer(home)
    assert files_of(home)


def test_several_at_once_answer_the_same(home):
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda _: answer(home), range(16)))
    assert all(each == answers[0] for each in answers)
    assert len(files_of(home)) == 1


def test_a_home_that_cannot_be_written_is_read(home):
    (home / "runs" / ".tables").write_text("in the way")
    assert len(answer(home)) == 3
