"""How many runs are needed, by hand and from tables; test_error_rates checks it by simulation."""

import math

import pytest

from dbdyno.analysis.statistics.statistical_power import (
    REPEATS_MAX,
    Spread,
    detectable,
    more_repeats,
    repeats_for,
)


@pytest.mark.parametrize(("effect_in_deviations", "pairs"), [(0.5, 34), (0.8, 15), (1.0, 10)])
def test_the_numbers_of_pairs_are_those_of_the_tables(effect_in_deviations, pairs):
    """Cohen's effects of 0.5, 0.8 and 1 in a paired test, two-sided, 5 %, power 0.8."""
    assert repeats_for(effect_in_deviations, Spread(1.0, 9), 0.05) == pairs


@pytest.mark.parametrize(("effect_in_deviations", "runs"), [(0.5, 64), (0.8, 26), (1.0, 17)])
def test_the_sizes_of_two_sets_are_those_of_the_tables(effect_in_deviations, runs):
    """The same for two samples: the effect's variance is the sum of both."""
    assert repeats_for(effect_in_deviations, Spread(2.0, 9, 2.0), 0.05) == runs


def test_the_detectable_effect_falls_with_runs_and_rises_with_noise_and_metrics():
    spread = Spread(0.01, 9)
    assert detectable(spread, 20, 0.05) < detectable(spread, 5, 0.05)
    assert detectable(Spread(0.04, 9), 5, 0.05) == pytest.approx(2 * detectable(spread, 5, 0.05))
    assert detectable(spread, 5, 0.01) > detectable(spread, 5, 0.05)


def test_the_interval_comes_from_how_little_the_pilot_knows():
    """With 4 degrees of freedom the true variance is 0.359 to 8.257 times the observed one."""
    found = more_repeats(0.05, Spread(0.0064, 4), 5, 0.05)
    few, many = (repeats_for(0.05, Spread(0.0064 * f, 4), 0.05) for f in (0.359, 8.257))
    assert (found.low, found.more, found.high) == (few - 5, 18, pytest.approx(many - 5, abs=1))
    assert found.finds == pytest.approx(math.expm1(0.05))


def test_two_pairs_bound_nothing():
    assert more_repeats(0.03, Spread(0.01, 1), 2, 0.05).high is None


def test_at_least_one_more_and_at_most_what_anybody_would_make():
    assert more_repeats(1.0, Spread(1e-6, 4), 5, 0.05).more == 1
    assert repeats_for(1e-9, Spread(1.0, 4), 0.05) == REPEATS_MAX
