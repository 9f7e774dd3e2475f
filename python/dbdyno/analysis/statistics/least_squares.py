"""Least squares with standard errors: an amount spent as causes times the cost of each.

Noise in time series is autocorrelated, and the errors allow for that. Whether an estimate is
precise enough is for the caller to decide.
"""

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from dbdyno.analysis.statistics.estimate import Series, autocorrelation_time, folded
from dbdyno.analysis.statistics.probability import student_quantile


class Fit(Struct, frozen=True):
    """Cost of one unit of each cause, its standard error, and half its 95 % interval."""

    value: Series
    error: Series
    half: Series


def fit(spent: Series, causes: NDArray[np.float64]) -> Fit | None:
    """Fit one column per cause; None if they are collinear, or too little was measured.

    A long series is folded first; the errors and their autocorrelation are then those of the folded
    series.
    """
    spent, causes = folded(spent), folded(causes)
    samples, unknowns = causes.shape
    if samples <= unknowns or np.linalg.matrix_rank(causes) < unknowns:
        return None
    value = np.linalg.lstsq(causes, spent)[0].astype(np.float64)
    rest = spent - causes @ value
    time = autocorrelation_time(rest, means=unknowns)
    noise = float(rest @ rest) / (samples - unknowns) * time
    error: Series = np.sqrt(noise * np.diag(np.linalg.inv(causes.T @ causes)))
    return Fit(value, error, student_quantile(samples / time - unknowns) * error)
