"""Lines through measurements at several sizes: by hand, by simulation, and where none is drawn."""

import numpy as np
import pytest

from dbdyno.analysis.growth.volume import per_decade, volume_curve
from dbdyno.analysis.statistics.estimate import IntervalEstimate

SIZES = [1e6, 1e7, 1e8]


def measured(chance, sizes=SIZES, repeats=3, noise=0.05, exponent=-0.02):
    return [
        (rows, 1000 * rows**exponent * np.exp(chance.normal(0, noise)))
        for rows in sizes
        for _ in range(repeats)
    ]


def test_by_hand():
    """Throughput halves with each decade, without noise."""
    found = volume_curve([(1e6, 400.0), (1e7, 200.0), (1e8, 100.0)])
    assert found.mean_at(1e9).value == pytest.approx(50)
    assert found.rows_at(50).value == pytest.approx(1e9, rel=1e-4)
    assert found.rows_at(1e-6) is None


def test_the_factor_by_hand():
    """Throughput halves with each decade; the second block is twice as fast as the first."""
    values = {1: (400.0, 200.0, 100.0), 2: (800.0, 400.0, 200.0)}
    found = per_decade(blocks_of(values)).factor
    assert found.value == pytest.approx(0.5)
    assert found.low == pytest.approx(0.5)
    assert found.high == pytest.approx(0.5)
    assert per_decade([(1, 1e6, 400.0), (2, 1e7, 200.0)]) is None


def test_the_factors_interval_holds_as_often_as_it_says_on_a_host_that_drifts():
    """95 % of 1000, plus or minus three standard deviations; no wider than the noise in a block."""
    chance = np.random.default_rng(2)
    held, widths = 0, []
    for _ in range(1000):
        drift = chance.normal(0, 1, 3)
        noise = chance.normal(0, 0.05, (3, 3))
        values = dict(enumerate(np.exp(drift[:, None] + noise)))
        effect = per_decade(blocks_of(values))
        low, high = effect.factor.low, effect.factor.high
        assert (effect.p > 0.05) == (low <= 1 <= high)
        held += low <= 1 <= high
        widths.append(high / low)
    assert 930 <= held <= 970
    assert np.median(widths) < 1.15


def blocks_of(values):
    return [
        (block, rows, value)
        for block, of in values.items()
        for rows, value in zip(SIZES, of, strict=True)
    ]


def test_the_interval_of_the_line_and_of_the_next_measurement_hold_as_often_as_they_say():
    """95 % of 1000, plus or minus three standard deviations."""
    chance = np.random.default_rng(1)
    of_slope = of_mean = of_next = 0
    for _ in range(1000):
        curve = volume_curve(measured(chance))
        ((_, seen),) = measured(chance, [1e9], 1)
        mean, following = curve.mean_at(1e9), curve.predicted_at(1e9)
        of_slope += curve.exponent.low <= -0.02 <= curve.exponent.high
        of_mean += mean.low <= 1000 * 1e9**-0.02 <= mean.high
        of_next += following.low <= seen <= following.high
    assert 929 <= of_slope <= 971
    assert 929 <= of_mean <= 971
    assert 929 <= of_next <= 971


def test_the_rows_at_which_a_time_is_too_long_lie_between_the_edges_of_the_prediction():
    chance = np.random.default_rng(2)
    held = 0
    for _ in range(300):
        curve = volume_curve(measured(chance, noise=0.2, exponent=1.05))
        limit = 1000 * 1e10**1.05
        rows = curve.rows_at(limit)
        assert rows.low < rows.value < rows.high
        assert curve.predicted_at(rows.low).high == pytest.approx(limit, rel=1e-3)
        assert curve.predicted_at(rows.high).low == pytest.approx(limit, rel=1e-3)
        held += rows.low <= 1e10 <= rows.high
    assert held >= 285  # a prediction interval holds the mean more often than the next measurement


def test_an_edge_that_never_comes_to_the_limit_has_no_end():
    chance = np.random.default_rng(3)
    curve = volume_curve(measured(chance, noise=0.2, exponent=-0.05))
    rows = curve.rows_at(curve.mean_at(1e11).value)
    assert rows.low is not None
    assert rows.high is None


def test_a_limit_that_the_fewest_rows_have_passed_is_reached_at_so_many_or_fewer():
    chance = np.random.default_rng(5)
    curve = volume_curve(measured(chance, noise=0.2, exponent=1.0))
    assert curve.rows_at(1e8) == IntervalEstimate(1e6, None, 1e6)  # 1e9 at the smallest size
    near = curve.rows_at(curve.mean_at(1e6).value * 0.9)
    assert (near.value, near.low) == (1e6, None)
    assert 1e6 < near.high < 1e7  # the interval allows for the noise of the next measurement
    falling = volume_curve([(1e6, 400.0), (1e7, 200.0), (1e8, 100.0)])
    assert falling.rows_at(1000) == IntervalEstimate(1e6, None, 1e6)


def test_two_measurements_are_a_line_without_any_doubt_that_could_be_counted():
    found = volume_curve([(1e6, 400.0), (1e7, 200.0)])
    assert found.exponent.low is None
    factor = per_decade([(1, 1e6, 400.0), (1, 1e7, 200.0)])
    assert (factor.factor, factor.p) == (IntervalEstimate(pytest.approx(0.5), None, None), None)
    assert found.mean_at(1e8).high is None
    assert (found.rows_at(100).low, found.rows_at(100).high) == (None, None)
    assert len(found.doubts) == 2


def test_doubts():
    chance = np.random.default_rng(4)
    assert volume_curve(measured(chance)).doubts[0].startswith("3 sizes")
    assert volume_curve(measured(chance, [1e5, *SIZES])).doubts == ()
    assert volume_curve(measured(chance)).doubt_at(1e9) == ""
    assert "2.0 decades" in volume_curve(measured(chance)).doubt_at(1e10)


def test_one_size_is_no_curve():
    assert volume_curve([(1e6, 400.0), (1e6, 200.0)]) is None
