import numpy as np
import pytest

from dbdyno.analysis.statistics.least_squares import fit
from tests.analysis.series import autoregressive


@pytest.fixture
def rng():
    return np.random.default_rng(8)


def test_the_cost_of_each_cause_is_found_within_its_interval(rng):
    """In 95 of 100 cases; at least 180 of 200."""
    within = 0
    for _ in range(200):
        causes = rng.uniform(0, 10, (60, 2))
        found = fit(causes @ [3.0, 50.0] + rng.standard_normal(60), causes)
        within += bool(abs(found.value[1] - 50.0) <= found.half[1])
    assert 180 <= within <= 199


def test_noise_that_lasts_makes_intervals_wider(rng):
    causes = np.stack([np.ones(200), np.linspace(0, 1, 200)], axis=1)
    brief = rng.standard_normal(200)
    lasting = np.repeat(rng.standard_normal(20), 10)
    assert fit(lasting, causes).error[1] > 2 * fit(brief, causes).error[1]


def test_the_interval_of_a_long_series_holds_as_often_as_it_says(rng):
    """Autocorrelated noise in so many intervals that neighbours are summed; at least 88 hold."""
    within = 0
    for _ in range(100):
        causes = np.stack([np.ones(6000), np.linspace(0, 1, 6000)], axis=1)
        found = fit(causes @ [3.0, 50.0] + autoregressive(0.9, 6000, rng), causes)
        within += bool(abs(found.value[1] - 50.0) <= found.half[1])
    assert within >= 88


def test_collinear_causes_are_not_separated():
    alike = np.ones((50, 2))
    assert fit(np.arange(50.0), alike) is None
    assert fit(np.arange(2.0), np.eye(2)) is None
