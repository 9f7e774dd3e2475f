"""Servers that do not report each wait: time that no CPU use accounts for has no name."""

import pytest

from dbdyno.analysis.waits.budget import budget
from tests.explain.made import made_run, with_looks, with_processors
from tests.support.recordings import changed

SQL = "update accounts set balance = 1 where id = 2"
MYSQL = {"endpoint": {"protocol": "mysql"}}


def shares(plan_change: dict, *, queue: float) -> dict[str, float]:
    """Shares of client time: eight busy clients without a reported wait, one core in use."""
    run = with_processors(made_run(SQL), server=1.0)
    run = with_looks(run, (0, "", "", 8))
    run.counters("processes", {"run_queue_us": queue * 1e6}, of="server")
    spent = budget(changed(run.loaded(), plan=plan_change))
    return {kind: spent.share(kind) for kind in ("cpu", "cpu_queue", "other_wait")}


def test_postgresql_names_its_waits():
    expected = {"cpu": 1 / 8, "cpu_queue": 7 / 8, "other_wait": 0}
    assert shares({}, queue=2.0) == pytest.approx(expected)


def test_for_mysql_only_the_queue_counted_by_the_kernel_is_queue():
    expected = {"cpu": 1 / 8, "cpu_queue": 2 / 8, "other_wait": 5 / 8}
    assert shares(MYSQL, queue=2.0) == pytest.approx(expected)


def test_a_queue_that_is_longer_than_what_is_left_takes_all_of_it():
    expected = {"cpu": 1 / 8, "cpu_queue": 7 / 8, "other_wait": 0}
    assert shares(MYSQL, queue=9.0) == pytest.approx(expected)
