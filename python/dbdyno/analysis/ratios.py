"""The ratio of two sums over the same seconds, with a realistic interval."""

import math

import numpy as np
from msgspec import Struct

from dbdyno.analysis.estimate import SAMPLES_MIN, Series, autocorrelation_time, standard_error
from dbdyno.analysis.probability import student_quantile

# The autocorrelation of a series of n takes n² steps; in a long run neighbouring seconds are first
# added up, which does not change the sums.
SAMPLES_MAX = 1500


class Ratio(Struct, frozen=True):
    """A ratio and its 95 % interval; no interval from fewer than five samples."""

    value: float
    low: float | None
    high: float | None


def ratio(numerator: Series, denominator: Series) -> Ratio | None:
    """Σx/Σy by the delta method; None if the denominator is 0.

    R = Σx/Σy has the variance of Σ(x − R·y) over (Σy)² (Cochran, *Sampling Techniques*, 1977,
    §2.11): what is common to both cancels out, so a cost per transaction is known far more
    precisely than the throughput. The residuals are autocorrelated, so the standard error of their
    mean is that of :func:`~dbdyno.analysis.estimate.standard_error`.
    """
    over = float(denominator.sum())
    if over <= 0:
        return None
    value = float(numerator.sum()) / over
    if len(numerator) < SAMPLES_MIN:
        return Ratio(value, None, None)
    residuals = folded(numerator - value * denominator)
    effective = len(residuals) / autocorrelation_time(residuals)
    error = standard_error(residuals) * len(residuals) / over
    half = student_quantile(effective - 1) * error
    return Ratio(value, max(value - half, 0.0), value + half)


def widened(of: Ratio, share: float) -> Ratio:
    """Widen the interval by a second, independent error: this share of the value."""
    if of.low is None or of.high is None:
        return of
    half = math.hypot(of.high - of.value, share * of.value)
    return Ratio(of.value, max(of.value - half, 0.0), of.value + half)


def folded(series: Series) -> Series:
    """The series itself, or for a long one sums of neighbours, at most ``SAMPLES_MAX``.

    Folds have equal length except the last, which may be shorter. An array of several series, one
    per column, is folded the same way.
    """
    together = -(-len(series) // SAMPLES_MAX)
    if together <= 1:
        return series
    sums: Series = np.add.reduceat(series, np.arange(0, len(series), together))
    return sums
