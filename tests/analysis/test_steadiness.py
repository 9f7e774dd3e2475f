import numpy as np
import pytest

from dbdyno.analysis.series.steadiness import find_shift, unasked_shift
from tests.analysis.series import autoregressive
from tests.support.recordings import MadeRun, changed

SERIES = 500


def found_in(phi, samples, added=0):
    rng = np.random.default_rng(3)
    return [find_shift(autoregressive(phi, samples, rng) + added) for _ in range(SERIES)]


@pytest.mark.parametrize(
    ("phi", "samples", "share_max"), [(0, 60, 0.02), (0.5, 60, 0.05), (0.5, 300, 0.03)]
)
def test_false_alarms_are_rare(phi, samples, share_max):
    alarms = sum(shift is not None for shift in found_in(phi, samples))
    assert alarms <= share_max * SERIES


def test_a_step_is_found_where_it_is():
    step = np.where(np.arange(60) >= 40, 50.0, 0.0)
    shifts = found_in(0.5, 60, step)
    assert sum(shift is not None for shift in shifts) > 0.95 * SERIES
    places = [shift.place for shift in shifts if shift]
    assert np.median(places) == 40
    relative = np.median([shift.relative for shift in shifts if shift])
    assert relative == pytest.approx(0.05, abs=0.01)


def test_a_drift_is_found_too():
    shifts = found_in(0, 60, np.linspace(0, 60, 60))
    assert sum(shift is not None for shift in shifts) > 0.95 * SERIES


def test_a_short_series_has_no_verdict():
    assert find_shift(np.arange(20.0)) is None


CLOSED = {"arrivals": {"closed": {"think": {"law": "constant", "mean_ns": 0}}}}
OPEN = {"arrivals": {"open": {"law": "poisson"}}}


def of_another_load(plan):
    return changed(MadeRun().loaded(), plan=plan).plan


@pytest.mark.parametrize(
    ("plan", "is_found"),
    [
        (CLOSED | {"stages": [{"duration_ns": 1}]}, True),
        (CLOSED | {"stages": [{"duration_ns": 1}, {"duration_ns": 1}]}, False),
        (OPEN | {"stages": [{"duration_ns": 1}]}, False),
    ],
    ids=["closed", "stages", "open"],
)
def test_a_planned_change_is_not_reported(plan, is_found):
    rng = np.random.default_rng(1)
    series = rng.normal(1000, 10, 60) + np.repeat([0.0, 200.0], 30)
    assert (unasked_shift(of_another_load(plan), series) is not None) == is_found


def test_a_change_too_small_to_matter_is_not_reported():
    rng = np.random.default_rng(1)
    series = rng.normal(1000, 10, 60) + np.repeat([0.0, 30.0], 30)
    assert find_shift(series) is not None
    assert unasked_shift(of_another_load(CLOSED), series) is None
