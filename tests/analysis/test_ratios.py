import numpy as np
import pytest

from dbdyno.analysis.statistics.estimate import SAMPLES_MAX, folded, ratio
from tests.analysis.series import autoregressive


def test_a_ratio_is_of_sums_not_of_quotients():
    found = ratio(np.array([10.0, 0, 30, 0, 60]), np.array([1.0, 0, 1, 0, 2]))
    assert found.value == 25


def test_variation_common_to_throughput_and_cost_cancels():
    transactions = np.random.default_rng(3).normal(1000, 300, 60)
    found = ratio(7 * transactions, transactions)
    assert (found.low, found.value, found.high) == pytest.approx((7, 7, 7))


def test_few_samples_give_no_interval_and_no_transactions_no_ratio():
    assert ratio(np.ones(4), np.ones(4)).low is None
    assert ratio(np.ones(9), np.zeros(9)) is None


@pytest.mark.parametrize("phi", [0.0, 0.5])
def test_the_interval_holds_the_truth_19_times_of_20(phi):
    """5 % of 400 are 20 ± 4.4 misses; fewer only mean that the interval is too wide."""
    rng = np.random.default_rng(11)
    missed = 0
    for _ in range(400):
        transactions = autoregressive(phi, 60, rng, noise=100)
        noise = autoregressive(phi, 60, rng, mean=0, noise=400)
        found = ratio(20 * transactions + noise, transactions)
        missed += not found.low <= 20 <= found.high
    assert missed <= 33


def test_long_series_are_folded_without_losing_anything():
    series = np.arange(28_800.0)
    short = folded(series)
    assert SAMPLES_MAX / 2 < len(short) <= SAMPLES_MAX
    assert short.sum() == series.sum()
    assert folded(short) is short
