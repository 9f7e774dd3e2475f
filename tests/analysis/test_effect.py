"""Ratios of pairs, by hand and by simulation."""

import numpy as np
import pytest

from dbdyno.analysis.statistics.effect import paired_ratio, simes


def test_by_hand():
    """Logarithms of 1, 2 and 4 to the base 2 are 0, 1, 2: mean 1, s = 1, t(0.975, 2) = 4.303."""
    found = paired_ratio([(100, 100), (100, 200), (100, 400)])
    half = 2 ** (4.3027 / np.sqrt(3))
    assert found.value == pytest.approx(2)
    assert (found.low, found.high) == pytest.approx((2 / half, 2 * half), rel=1e-3)
    assert not found.is_significant


def test_the_reverse_is_as_far_from_no_change():
    pairs = [(100, 150), (90, 160), (110, 140)]
    forth, back = paired_ratio(pairs), paired_ratio([(after, before) for before, after in pairs])
    assert forth.value == pytest.approx(1 / back.value)
    assert forth.low == pytest.approx(1 / back.high)


def test_one_pair_has_no_interval():
    found = paired_ratio([(100, 130)])
    assert found.value == pytest.approx(1.3)
    assert (found.low, found.high) == (None, None)
    assert not found.is_significant


def test_no_change_is_called_significant_once_in_twenty():
    chance = np.random.default_rng(3)
    excluded = [
        paired_ratio(np.exp(chance.normal(7, 0.1, (3, 2))).tolist()).is_significant
        for _ in range(1000)
    ]
    assert 0.03 < np.mean(excluded) < 0.07


def test_several_moderate_changes_tell_more_than_one():
    """By hand: 4 times 0.04 over 4; 4 times 0.03 over 1; 4 times 0.02 over 2."""
    assert simes([0.04, 0.03, 0.035, 0.04]) == pytest.approx(0.04)
    assert simes([0.9, 0.03, 0.8, 0.7]) == pytest.approx(0.12)
    assert simes([0.9, 0.02, 0.8, 0.01]) == pytest.approx(0.04)
    assert simes([]) == 1
