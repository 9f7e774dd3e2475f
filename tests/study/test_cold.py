"""A turn with a cold cache, on a real server: nothing reads the tables before the load does."""

import mmap
from pathlib import Path

import pytest

from dbdyno.model.frame import Frame, Started
from dbdyno.servers.page_cache import pages_cached
from dbdyno.store.listing import read_record, runs_folder
from dbdyno.study.execute import execute
from dbdyno.study.folder import begin_study
from dbdyno.study.rates import Rates
from dbdyno.study.spec import AS_WRITTEN, read_study
from tests.study.files import written
from tests.study.watcher import Watcher
from tests.support.engine import Astray, connect, tools

# Its laws add up all accounts, and its few transactions read few of them.
STUDY = """
name = "mini"
title = "A small study"
question = "Is colder slower?"
repeats = 1
cache = "CACHE"
restore = "once"
[base]
workload = "tpcb"
scale = 2
transactions = 2
warmup = "0s"
[[factor]]
name = "clients"
levels = [1, 2]
"""

pytestmark = pytest.mark.usefixtures("home")


def shares_cached(folder: Path, cache: str) -> list[float]:
    """Return which share of the accounts' pages is cached at the beginning of each load."""
    shares: list[float] = []

    class Looking(Astray):
        def meet(self, frame: Frame) -> None:
            if isinstance(frame, Started):
                with connect(self.plan.endpoint) as connection:
                    query = "select current_setting('data_directory'), pg_relation_filepath(%s)"
                    (place,) = connection.execute(query, ["pgbench_accounts"]).fetchall()
                file = Path(*place)
                shares.append(pages_cached(file) * mmap.PAGESIZE / file.stat().st_size)

    path = written(folder, STUDY.replace("CACHE", cache))
    with begin_study(path, read_study(path, "tiny"), AS_WRITTEN) as writer:
        record = execute(writer, tools(Looking), Watcher(), Rates())
    assert [(result.status, result.error) for result in record.results] == [("done", None)] * 2
    return shares


def test_a_load_with_a_cold_cache_is_the_first_to_read_its_tables(tmp_path):
    # Each page that is read brings its neighbours with it.
    assert all(share < 0.1 for share in shares_cached(tmp_path, "cold"))
    for folder in runs_folder().iterdir():
        record = read_record(folder)
        assert "sum of abalance" in record.invariants_read
        assert "--no-vacuum" not in record.command


def test_a_load_with_a_warm_cache_finds_its_tables_there(tmp_path):
    """That the other test can see them at all."""
    assert all(share > 0.9 for share in shares_cached(tmp_path, "warm"))
