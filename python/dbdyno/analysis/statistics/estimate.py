"""The mean of an autocorrelated series, with a realistic interval.

Seconds of one run are not independent: a checkpoint slows several in a row. The interval of their
mean must use the number of independent samples that they are worth; treating them as independent
makes it far too narrow. The interval does not say how another run would differ; that takes other
runs.

The median is our own: numpy's first imports its masked arrays, which are not used here: this would
add a hundredth of a second to each run.

A ratio of two sums over the same seconds, and what a fitted law gives, have such intervals, too.
"""

import math

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from dbdyno.analysis.statistics.probability import student_quantile

CONFIDENCE = 0.95
SAMPLES_MIN = 5

Series = NDArray[np.float64]


class Estimate(Struct, frozen=True):
    """A mean, its interval, and the number of independent samples behind it."""

    value: float
    low: float
    high: float
    samples_effective: float


def estimate_mean(series: Series) -> Estimate | None:
    """Mean with a 95 % interval; None for fewer than five samples.

    mean ± t(0.975, nₑ − 1) · s·√(τ/n / (1 − τ/n)) with the integrated autocorrelation time τ
    (:func:`autocorrelation_time`) and nₑ = n/τ. The factor 1/(1 − τ/n) corrects the bias of s² from
    being taken around the sample's own mean (Anderson, *The Statistical Analysis of Time Series*,
    1971, §8.3). As s² already divides by n − 1, a part of this is corrected twice and intervals are
    √(n/(n − 1)) wider, on purpose: with few samples τ is underestimated, and with φ = 0.5 and n = 8
    the interval contains the mean 87 times in 100, without the extra width 85; with independent
    samples 97 times either way.
    """
    if len(series) < SAMPLES_MIN:
        return None
    mean = float(series.mean())
    effective = len(series) / autocorrelation_time(series)
    half = student_quantile(effective - 1) * standard_error(series)
    return Estimate(mean, mean - half, mean + half, effective)


def standard_error(series: Series) -> float:
    """The standard error of the mean, allowing for autocorrelation."""
    share = autocorrelation_time(series) / len(series)
    return float(series.std(ddof=1)) * math.sqrt(share / (1 - share))


def autocorrelation_time(series: Series, means: int = 1) -> float:
    """How many neighbouring samples are worth one independent sample (τ ≥ 1).

    The longer of two estimates. Geyer's (*Practical Markov Chain Monte Carlo*, 1992) makes no
    assumption but is too short on series of a few dozen samples; that of a first-order
    autoregression is good on short series but assumes one shape. ``means`` is the number of means
    that were fitted to the series and subtracted. At most n/5: with fewer than five independent
    samples the estimate of their number is itself worthless.
    """
    centred = series - series.mean()
    variance = float(centred @ centred)
    if variance == 0:
        return 1.0
    correlations = np.correlate(centred, centred, "full")[len(series) - 1 :] / variance
    next_to = float(correlations[1])
    longer = max(_geyer_time(correlations), _first_order_time(next_to, len(series) / means))
    return min(longer, len(series) / SAMPLES_MIN)


def _geyer_time(correlations: Series) -> float:
    """Initial monotone sequence: sums of adjacent pairs, while positive, made to decrease."""
    even = len(correlations) // 2 * 2
    pairs = correlations[:even].reshape(-1, 2).sum(axis=1)
    ended = pairs <= 0
    positive = np.minimum.accumulate(pairs[: np.argmax(ended)] if ended.any() else pairs)
    return max(2 * float(positive.sum()) - 1, 1.0)


def _first_order_time(correlation: float, samples: float) -> float:
    """(1 + φ)/(1 − φ), with φ corrected for its bias of −(1 + 4φ)/n.

    Marriott and Pope, *Biometrika* 41, 1954; Kendall, *ibid*.
    """
    unbiased = min(max(correlation + (1 + 4 * correlation) / samples, 0.0), 0.99)
    return (1 + unbiased) / (1 - unbiased)


def median(values: Series) -> float:
    """The median; NaN for an empty series or one with a NaN."""
    ordered = np.sort(values)
    if not len(ordered) or math.isnan(ordered[-1]):  # NaN sorts last
        return math.nan
    middle = len(ordered) // 2
    return float(ordered[middle] + ordered[-1 - middle]) / 2


_TAIL = 0.025


class IntervalEstimate(Struct, frozen=True):
    """``low`` and ``high`` are None if too little was measured to know them."""

    value: float
    low: float | None
    high: float | None


def percentile_interval(value: float, drawn: Series) -> IntervalEstimate:
    """The interval that contains the middle 95 % of the draws.

    Its ends are draws themselves: values cannot be interpolated between a number and infinity.
    """
    low, high = np.quantile(drawn, [_TAIL, 1 - _TAIL], method="nearest")
    return IntervalEstimate(value, float(low), float(high))


# The autocorrelation of a series of n takes n² steps; in a long run neighbouring seconds are first
# added up, which does not change the sums.
SAMPLES_MAX = 1500


class Ratio(Struct, frozen=True):
    """A ratio and its 95 % interval; none from too few samples."""

    value: float
    low: float | None
    high: float | None

    @property
    def is_significant(self) -> bool:
        """Whether the interval excludes 1: no change."""
        return self.low is not None and self.high is not None and not self.low <= 1 <= self.high


def ratio(numerator: Series, denominator: Series) -> Ratio | None:
    """Σx/Σy by the delta method; None if the denominator is 0, no interval below five samples.

    R = Σx/Σy has the variance of Σ(x − R·y) over (Σy)² (Cochran, *Sampling Techniques*, 1977,
    §2.11): what is common to both cancels out, so a cost per transaction is known far more
    precisely than the throughput. The residuals are autocorrelated, so the standard error of their
    mean is that of :func:`~dbdyno.analysis.statistics.estimate.standard_error`.
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
