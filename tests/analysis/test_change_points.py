import numpy as np
import pytest

from dbdyno.analysis.statistics.change_points import SAMPLES_MAX, change_points
from tests.analysis.series import autoregressive


def level(*parts, noise=20.0, seed=5):
    """A noisy series; ``parts`` are (samples, mean)."""
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.normal(mean, noise, samples) for samples, mean in parts])


@pytest.mark.parametrize("samples", [60, 300])
@pytest.mark.parametrize(("phi", "rate_max"), [(0.0, 0.01), (0.5, 0.02)])
def test_steady_series_rarely_have_one(samples, phi, rate_max):
    """Of a hundred series, at most the stated share, plus two standard deviations."""
    rng = np.random.default_rng(17)
    alarms = sum(bool(change_points(autoregressive(phi, samples, rng))) for _ in range(100))
    assert alarms <= 100 * rate_max + 2 * np.sqrt(100 * rate_max)


@pytest.mark.parametrize("seed", range(5))
def test_a_change_of_level_is_found_where_it_is(seed):
    (place,) = change_points(level((40, 1000), (30, 900), seed=seed))
    assert abs(place - 40) <= 1


@pytest.mark.parametrize("seed", range(5))
def test_a_dip_is_found_though_the_level_comes_back(seed):
    begin, end = change_points(level((30, 1000), (6, 850), (40, 1000), seed=seed))
    assert abs(begin - 30) <= 1
    assert abs(end - 36) <= 1


def test_several_changes_are_found_in_order():
    assert change_points(level((30, 1000), (30, 800), (30, 900), (30, 600), noise=10)) == [
        30,
        60,
        90,
    ]


def test_places_in_long_series_are_found_to_the_nearest_piece():
    (place,) = change_points(level((8000, 1000), (6000, 950)))
    assert abs(place - 8000) <= 14_000 / SAMPLES_MAX


@pytest.mark.parametrize("series", [np.empty(0), np.ones(5), np.full(60, 7.0)])
def test_nothing_to_find(series):
    assert change_points(series) == []


def test_without_noise_every_change_is_one():
    assert change_points(np.repeat([5.0, 3.0], 10)) == [10]
