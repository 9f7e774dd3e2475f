import numpy as np
import pytest
from msgspec.structs import astuple
from scipy.special import stdtrit

from dbdyno.analysis.statistics.estimate import autocorrelation_time, estimate_mean
from dbdyno.analysis.statistics.probability import student_quantile
from tests.analysis.series import autoregressive

SERIES = 500


@pytest.mark.parametrize(("phi", "samples"), [(0, 60), (0.5, 60), (0.5, 300), (0.8, 300)])
def test_the_interval_covers_the_true_mean_as_often_as_it_says(phi, samples):
    """95 % of 500 is 475, with a standard deviation of 4.9: below 460 is not chance."""
    rng = np.random.default_rng(1)
    found = [estimate_mean(autoregressive(phi, samples, rng)) for _ in range(SERIES)]
    covering = sum(one.low <= 1000 <= one.high for one in found)
    assert 460 <= covering <= 495


def test_taking_neighbours_for_independent_would_not_do():
    rng = np.random.default_rng(1)
    covering = 0
    for _ in range(SERIES):
        series = autoregressive(0.5, 300, rng)
        covering += abs(series.mean() - 1000) < 1.96 * series.std(ddof=1) / np.sqrt(300)
    assert covering < 400


@pytest.mark.parametrize(("phi", "time"), [(0, 1), (0.5, 3), (0.8, 9)])
def test_the_autocorrelation_time_is_that_of_theory(phi, time):
    """(1 + φ)/(1 − φ) for a first-order autoregression."""
    rng = np.random.default_rng(2)
    found = np.mean([autocorrelation_time(autoregressive(phi, 2000, rng)) for _ in range(50)])
    assert found == pytest.approx(time, rel=0.12)


def test_a_constant_series_is_known_exactly():
    found = estimate_mean(np.full(30, 7.0))
    assert (found.low, found.value, found.high) == (7, 7, 7)


def test_too_few_samples_give_no_interval():
    assert estimate_mean(np.array([1.0, 2, 3, 4])) is None


@pytest.mark.parametrize("phi", [0, 0.8])
def test_estimates_are_plain_floats_that_any_file_can_hold(phi):
    for seed in range(20):
        estimate = estimate_mean(autoregressive(phi, 8, np.random.default_rng(seed)))
        assert {type(number) for number in astuple(estimate)} == {float}


def test_the_quantile_of_student_s_t_is_that_of_tables():
    for freedom in [1, 1.5, 2, 4.3, 7, 29, 1e3, 1e6]:
        assert student_quantile(freedom) == pytest.approx(stdtrit(freedom, 0.975), rel=1e-5)
    assert student_quantile(0.2) == student_quantile(1)  # the widest interval
