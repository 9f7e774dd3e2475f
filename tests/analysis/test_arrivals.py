"""When a queue of arrivals is one that grows, and when it comes and goes."""

import pytest

from dbdyno.analysis.arrivals import Arrivals, arrivals
from tests.support.recordings import MadeRun


@pytest.mark.parametrize(
    ("due", "waiting", "overran"),
    [
        (60_000, 0, False),  # a closed loop, or a rate that is carried
        (60_000, 599, False),  # under one in a hundred
        (60_000, 600, True),
        (100, 1, True),  # one in a hundred of a slow rate
        (0, 0, False),
    ],
)
def test_a_queue_of_one_in_a_hundred_grows(due, waiting, overran):
    assert Arrivals(due=due, waiting=waiting, duration_s=60).overran is overran


def test_a_short_run_may_end_in_a_burst():
    assert not Arrivals(due=1000, waiting=99, duration_s=1).overran
    assert Arrivals(due=1000, waiting=100, duration_s=1).overran


def test_counters_are_those_of_the_last_interval():
    run = MadeRun(100, seconds=20, waiting=50)
    assert arrivals(run.recording(), 20) == Arrivals(due=3000, waiting=1000, duration_s=20)
