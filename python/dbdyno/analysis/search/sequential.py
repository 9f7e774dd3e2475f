"""Whether a load meets an objective, tested after every run until it is decided.

Testing repeatedly until the answer pleases is wrong more often than each test suggests. So the
number of interim analyses is fixed in advance, and each has a share of the stated error
(Bonferroni; Pocock's boundaries, *Biometrika* 64, 1977, gain little with five). The error holds in
each direction: reporting *met* for a load that misses, and *missed* for one that meets.

The test statistic is the logarithm of level / limit, as the noise of a loaded server grows with the
level. Its standard error comes from the variation between windows, because slow transactions come
together, in stalls; autocorrelated windows count as fewer, and the error is never below that of
independent transactions. The rarer and longer the stalls, the more likely it is that too few were
seen: *met* must also hold when t is corrected for the skewness of the windows (Hall, *Journal of
the Royal Statistical Society* B 54, 1992), and takes twelve independent windows. A kind of stall
that no window contains is not in any number: rare ones need long runs.
"""

import math
from typing import Literal, TypeAlias

from msgspec import Struct

from dbdyno.analysis.statistics.estimate import (
    IntervalEstimate,
    Series,
    autocorrelation_time,
    standard_error,
)
from dbdyno.analysis.statistics.probability import student_quantile_upper

LOOKS_MAX = 5
ERROR = 0.05
WINDOWS_MIN = 5
_EFFECTIVE_MIN = 12.0

Judgement: TypeAlias = Literal["met", "missed", "open"]


class SequentialResult(Struct, frozen=True):
    """The judgement so far, and what it rests on.

    ``level`` is the share of bad transactions, or the mean, with the 95 % interval of a single
    analysis.
    """

    judgement: Judgement
    level: IntervalEstimate
    windows: int
    windows_effective: float


def judge_share(
    bad: Series, total: Series, allowed: float, error: float = ERROR
) -> SequentialResult:
    """Whether the share of bad transactions is at most the allowed one, from counts per window."""
    # The error of independent transactions, if their bad share is the allowed one.
    least = math.sqrt((1 - allowed) / (allowed * max(float(total.sum()), 1.0)))
    return _result(bad, total, allowed, least, error)


def judge_mean(
    means: Series, counts: Series, limit: float, error: float = ERROR
) -> SequentialResult:
    """Whether the mean over all transactions is below the limit, from the means of each window."""
    return _result(means * counts, counts, limit, 0.0, error)


def _result(
    amount: Series, count: Series, limit: float, least: float, error: float
) -> SequentialResult:
    """Judge Σ amount / Σ count; ``least`` is its smallest possible relative error."""
    seen, windows = float(count.sum()), len(amount)
    level = float(amount.sum()) / seen if seen else 0.0
    if windows < WINDOWS_MIN or not seen:
        return SequentialResult(
            "open", IntervalEstimate(level, None, None), windows, float(windows)
        )
    rest = amount - level * count
    effective = windows / autocorrelation_time(rest)
    relative = max(standard_error(rest) / float(amount.mean()), least) if level else least
    reach = student_quantile_upper(1 - error / LOOKS_MAX, effective - 1)
    # In standard errors; a level of 0 uses the limit's own.
    distance = (math.log(level / limit) if level else -1.0) / relative
    deviation = float(rest.std(ddof=1))
    skewness = float((rest**3).mean()) / deviation**3 if deviation else 0.0
    corrected = _without_skew(distance, skewness / math.sqrt(effective))
    judgement: Judgement = "missed" if distance > reach else "open"
    if max(distance, corrected) < -reach and effective >= _EFFECTIVE_MIN:
        judgement = "met"
    return SequentialResult(
        judgement=judgement,
        level=_ranged(level, relative, seen, effective),
        windows=windows,
        windows_effective=effective,
    )


def _without_skew(t: float, skew: float) -> float:
    """Hall's cubic correction: monotone in t everywhere, unlike Johnson's quadratic.

    With the quadratic, a level far below its limit would be corrected to one far above.
    """
    return t + skew * t**2 / 3 + skew**2 * t**3 / 27 + skew / 6


def _ranged(level: float, relative: float, count: float, effective: float) -> IntervalEstimate:
    """Interval of a single analysis; with none bad, at most −ln 0.025 (3.7) were to be expected."""
    if not level:
        return IntervalEstimate(level, 0.0, -math.log(0.025) / count)
    factor = math.exp(student_quantile_upper(0.975, effective - 1) * relative)
    return IntervalEstimate(level, level / factor, level * factor)
