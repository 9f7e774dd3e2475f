"""By how much two variants differ, from runs of both: the unit is the run, on logarithms.

Ratios multiply, so twice as fast and half as fast must be equally far from no change. Consecutive
runs form a pair: drift of the host affects both and cancels out. How the seconds of a run vary
says nothing about how runs vary, and is not used here.
"""

import math
from collections.abc import Sequence
from functools import cache

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from dbdyno.analysis.statistics.estimate import Ratio, Series
from dbdyno.analysis.statistics.probability import student_p, student_quantile_two_sided
from dbdyno.analysis.statistics.statistical_power import Spread
from dbdyno.model.comparison import Method

PAIRS_OF_T_MAX = 15
_RESAMPLES = 9999


class Effect(Struct, frozen=True):
    """A mean difference (of logarithms: of a ratio) with its test.

    ``reach_95`` and ``reach_90`` are the half-widths of its intervals; an equivalence test at 5 %
    uses the 90 % interval. ``p`` and ``spread`` are None if noise between runs is not known.
    """

    value: float
    reach_95: float
    reach_90: float
    method: Method
    p: float | None = None
    spread: Spread | None = None

    @property
    def low(self) -> float:
        """Lower end of the 95 % interval."""
        return self.value - self.reach_95

    @property
    def high(self) -> float:
        """Upper end of the 95 % interval."""
        return self.value + self.reach_95

    def lies_within(self, margin: float, reach: float) -> bool:
        """Whether the interval of this half-width is wholly inside ± the margin."""
        return abs(self.value) + reach < margin


def paired_ratio(pairs: Sequence[tuple[float, float]]) -> Ratio:
    """Mean ratio of the second to the first of each pair; a single pair has no interval."""
    logarithms = np.log([after / before for before, after in pairs])
    if len(pairs) < 2:
        return Ratio(math.exp(logarithms[0]), None, None)
    effect = paired_effect(logarithms)
    return Ratio(math.exp(effect.value), math.exp(effect.low), math.exp(effect.high))


def paired_effect(differences: Series) -> Effect:
    """Effect of pairs: Student's t, and the bootstrap if there are enough pairs to resample.

    A percentile bootstrap of five pairs raises a false alarm in one of six; t is valid even for few
    pairs, except under strongly non-normal noise, which then only makes it miss more.
    """
    spread = Spread(float(differences.var(ddof=1)), len(differences) - 1)
    if len(differences) <= PAIRS_OF_T_MAX or not spread.variance:
        error = math.sqrt(spread.variance / len(differences))
        return _student(float(differences.mean()), error, spread, "paired t")
    return _bootstrap(differences, spread)


def unpaired_effect(before: Series, after: Series) -> Effect:
    """Effect of two unpaired sets of runs: Welch's t, each set with its own noise.

    A single run shows no noise; its set is then assumed to have the noise of the other (Student's
    two-sample t).
    """
    value = float(after.mean() - before.mean())
    if min(len(before), len(after)) < 2:
        many = max(before, after, key=len)
        variance = float(many.var(ddof=1))
        error = math.sqrt(variance * (1 + 1 / len(many)))
        return _student(value, error, Spread(2 * variance, len(many) - 1, 2.0), "Student t")
    first, second = float(before.var(ddof=1)), float(after.var(ddof=1))
    error, freedom = _welch(first / len(before), len(before), second / len(after), len(after))
    _, each = _welch(first, 2, second, 2)
    return _student(value, error, Spread(first + second, freedom, each), "Welch t")


def _welch(first: float, runs: int, second: float, others: int) -> tuple[float, float]:
    """Standard error and degrees of freedom (Welch, *Biometrika* 34, 1947)."""
    total = first + second
    if not total:
        return 0.0, float(runs + others - 2)
    freedom = total**2 / (first**2 / (runs - 1) + second**2 / (others - 1))
    return math.sqrt(total), freedom


def _student(value: float, error: float, spread: Spread, method: Method) -> Effect:
    if not error:
        return Effect(value, 0.0, 0.0, method, 0.0 if value else 1.0, spread)
    return Effect(
        value=value,
        p=student_p(value / error, spread.freedom),
        reach_95=student_quantile_two_sided(0.95, spread.freedom) * error,
        reach_90=student_quantile_two_sided(0.90, spread.freedom) * error,
        method=method,
        spread=spread,
    )


def _bootstrap(differences: Series, spread: Spread) -> Effect:
    """The symmetric studentized bootstrap (Hall, *Biometrika* 75, 1988).

    The distribution of |t*| = |m* − m| / s* over resamples takes the place of Student's t.
    """
    value = float(differences.mean())
    error = math.sqrt(spread.variance / len(differences))
    count, centred = len(differences), differences - value
    weights = _weights(count)
    means = weights @ centred / count
    variances = weights @ centred**2 / count - means**2
    drawn = np.abs(means / np.sqrt(np.maximum(variances, 1e-300) / (count - 1)))
    passing = int((drawn >= abs(value) / error).sum())
    return Effect(
        value=value,
        p=(1 + passing) / (1 + _RESAMPLES),
        reach_95=float(np.quantile(drawn, 0.95)) * error,
        reach_90=float(np.quantile(drawn, 0.90)) * error,
        method="paired bootstrap",
        spread=spread,
    )


@cache
def _weights(count: int) -> NDArray[np.float64]:
    """Number of times each element is in each resample: always the same resamples.

    The same runs must give the same answer whenever they are compared.
    """
    return (
        np.random.default_rng(count)
        .multinomial(count, np.full(count, 1 / count), size=_RESAMPLES)
        .astype(np.float64)
    )


def holm(chances: Sequence[float]) -> list[float]:
    """Adjust the p-values of several tests so that the family-wise error rate holds.

    The smallest times their number, the next times one less, never decreasing (Holm, *Scandinavian
    Journal of Statistics* 6, 1979). Valid for correlated metrics.
    """
    adjusted = [1.0] * len(chances)
    least = 0.0
    for rank, place in enumerate(sorted(range(len(chances)), key=chances.__getitem__)):
        least = max(least, min(chances[place] * (len(chances) - rank), 1.0))
        adjusted[place] = least
    return adjusted


def simes(chances: Sequence[float]) -> float:
    """Return the p-value of "nothing changed anywhere", from the p-values of several tests.

    The least over i of the i-th smallest times their number over i (Simes, *Biometrika* 73, 1986):
    several moderate changes tell together what each alone does not. Valid for independent tests
    and for positively dependent ones, as tests that share a base are; 1 without tests.
    """
    ranked = enumerate(sorted(chances), 1)
    return min((chance * len(chances) / rank for rank, chance in ranked), default=1.0)
