"""What was spent, as a sum of causes times what each one costs: least squares, with errors.

The noise of series over time is autocorrelated, and errors count that. Whether what is found
is known well enough is for those to say who ask.
"""

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from dbdyno.analysis.estimate import Series, autocorrelation_time, student_quantile
from dbdyno.analysis.ratios import folded


class Fit(Struct, frozen=True):
    """What one of each cause costs, its standard error, and half its 95 % interval."""

    value: Series
    error: Series
    half: Series


def fit(spent: Series, causes: NDArray[np.float64]) -> Fit | None:
    """One column a cause; None where they cannot be told apart, or too little was measured.

    A long series is folded first: then the errors and how long they last are those of one series.
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
