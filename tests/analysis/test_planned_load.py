"""The client time that a plan asks for."""

import numpy as np
import pytest

from dbdyno.analysis.series.planned_load import client_seconds_planned, stage_at
from tests.support.recordings import MadeRun, changed

STAGES = {
    "clients": 64,
    "stages": [{"duration_ns": 10 * 10**9, "clients": n, "rate_tps": None} for n in (8, 64, 16)],
}


def planned(changes):
    return changed(MadeRun().loaded(), plan=changes).plan


@pytest.mark.parametrize(
    ("begin_s", "end_s", "expected"),
    [
        (0, 10, 80),
        (10, 20, 640),
        (5, 12, 5 * 8 + 2 * 64),
        (0, 30, 80 + 640 + 160),
        (-3, 0, 3 * 8),  # the warm-up
        (29, 31, 2 * 16),  # transactions that end after the load
        (12, 12, 0),
    ],
)
def test_each_stage_has_its_clients(begin_s, end_s, expected):
    assert client_seconds_planned(planned(STAGES), begin_s, end_s) == pytest.approx(expected)


@pytest.mark.parametrize(
    "stages",
    [
        [],
        [{"duration_ns": None, "clients": None, "rate_tps": None}],
        [{"duration_ns": 10**9, "clients": None, "rate_tps": rate} for rate in (100.0, 200.0)],
    ],
)
def test_without_clients_of_their_own_all_stages_have_those_of_the_plan(stages):
    begin_s, end_s = np.arange(3.0), np.arange(3.0) + 2
    spent = client_seconds_planned(planned({"clients": 4, "stages": stages}), begin_s, end_s)
    np.testing.assert_allclose(spent, 8)


def test_a_stage_begins_where_its_interval_does():
    """Three times 2.1 is more than 6.3 in floating point."""
    stages = [{"duration_ns": 2_100_000_000, "clients": n, "rate_tps": None} for n in (1, 2, 3, 4)]
    begins_s = np.array([0.0, 2.1, 4.2, 6.3])
    plan = planned({"clients": 4, "stages": stages})
    assert stage_at(plan, begins_s).tolist() == [0, 1, 2, 3]
