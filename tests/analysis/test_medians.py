import numpy as np
import pytest

from dbdyno.analysis.medians import median


@pytest.mark.parametrize("number", [1, 2, 7, 10, 1001])
def test_the_middle_is_that_of_numpy(number):
    values = np.random.default_rng(number).exponential(size=number)
    assert median(values) == np.median(values)


@pytest.mark.parametrize("values", [[], [1.0, np.nan, 2.0]])
def test_of_nothing_and_of_what_is_not_known_there_is_no_middle(values):
    assert np.isnan(median(np.array(values)))
