"""The median.

numpy's median first imports its masked arrays, which are not used here: this would add a hundredth
of a second to each run.
"""

import math

import numpy as np

from dbdyno.analysis.estimate import Series


def median(values: Series) -> float:
    """The median; NaN for an empty series or one with a NaN."""
    ordered = np.sort(values)
    if not len(ordered) or math.isnan(ordered[-1]):  # NaN sorts last
        return math.nan
    middle = len(ordered) // 2
    return float(ordered[middle] + ordered[-1 - middle]) / 2
