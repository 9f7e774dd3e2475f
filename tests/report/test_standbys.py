"""The section of standbys: what a reader compares is the same number everywhere."""

import numpy as np

from dbdyno.analysis.series.readings import LevelSeries
from dbdyno.report.sections.standbys import _longest_ms


def test_the_longest_lag_of_the_text_is_on_the_chart():
    """A reading between the middles of two intervals is not smoothed away."""
    lag = LevelSeries(np.array([0.1, 0.9, 2.5]), np.array([0.002, 0.5, 0.001]))
    longest_ms = _longest_ms(np.array([0.0, 1.0, 2.0]), lag)
    np.testing.assert_array_equal(longest_ms, [500.0, np.nan, 1.0])
