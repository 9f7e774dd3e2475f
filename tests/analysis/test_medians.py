import numpy as np
import pytest

from dbdyno.analysis.statistics.estimate import median


@pytest.mark.parametrize("number", [1, 2, 7, 10, 1001])
def test_the_middle_is_that_of_numpy(number):
    values = np.random.default_rng(number).exponential(size=number)
    assert median(values) == np.median(values)


@pytest.mark.parametrize("values", [[], [1.0, np.nan, 2.0]])
def test_empty_and_unknown_values_have_no_median(values):
    assert np.isnan(median(np.array(values)))
