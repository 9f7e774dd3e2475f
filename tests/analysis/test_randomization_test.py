import numpy as np
import pytest

from dbdyno.analysis.statistics.randomization_test import randomization_p
from dbdyno.analysis.statistics.spans import extended_to_low_end, true_spans
from tests.analysis.series import autoregressive

SAMPLES = 200
NOTHING_LOW = np.zeros(SAMPLES, dtype=bool)


def mask(*places, samples=8):
    found = np.zeros(samples, dtype=bool)
    found[list(places)] = True
    return found


def test_runs_of_equal_values_are_given_by_begin_and_end():
    assert true_spans(mask(0, 1, 4, 7)) == [(0, 2), (4, 5), (7, 8)]
    assert true_spans(mask()) == []


def test_a_stretch_lasts_to_the_end_of_what_is_low_at_its_end():
    low = mask(3, 4, 6)
    ends = np.array([2, 3, 4, 5, 6, 8])
    assert extended_to_low_end(ends, low).tolist() == [2, 5, 5, 5, 7, 8]


@pytest.mark.parametrize("spans", [[(20, 24)], [(5, 9), (60, 64), (130, 134)], [(0, 150)]])
def test_chance_is_even_where_stretches_mean_nothing(spans):
    """As many series below each limit as it states, within 2.5 standard deviations."""
    rng = np.random.default_rng(12)
    chances = [
        randomization_p(autoregressive(0.5, SAMPLES, rng), spans, NOTHING_LOW) for _ in range(200)
    ]
    for limit in (0.05, 0.2, 0.5):
        expected = 200 * limit
        assert abs(sum(c <= limit for c in chances) - expected) <= 2.5 * np.sqrt(expected)


def test_chance_is_small_where_stretches_are_what_differs():
    series = autoregressive(0.5, SAMPLES, np.random.default_rng(1))
    series[40:50] += 100
    assert randomization_p(series, [(40, 50)], NOTHING_LOW) <= 0.05
    assert randomization_p(-series, [(40, 50)], NOTHING_LOW) >= 0.9


def test_stretches_that_fill_the_series_show_nothing():
    assert randomization_p(np.arange(200.0), [(0, 200)], NOTHING_LOW) == 1
