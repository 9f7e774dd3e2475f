"""Whether a load meets an objective, asked again after every run until it is told.

Who looks again and again until the answer pleases is wrong more often than each look says. So
the number of looks is fixed beforehand, and each may be wrong only so often that all of them
together stay below the stated error (Bonferroni; Pocock's boundaries, *Biometrika* 64, 1977, gain
little on it for five). The error is stated for each direction: to say *met* of a load that
misses, and *missed* of one that meets.

What is looked at is the logarithm of the level over its limit, as noise that comes with load
grows with the level. How far it is known comes from how windows differ, for slow transactions
come together, in stalls; neighbours that resemble each other count as fewer, and no level is
known better than if transactions were independent. The rarer and longer the stalls, the likelier
that too few were seen: *met* must stand as well when t is corrected for the skewness of the
windows (Hall, *Journal of the Royal Statistical Society* B 54, 1992), and takes twelve
independent windows. A kind of stall that no window has seen is in no number: rare ones take
long runs.
"""

import math
from typing import Literal, TypeAlias

from msgspec import Struct

from dbdyno.analysis.estimate import Series, autocorrelation_time, standard_error
from dbdyno.analysis.interval_estimate import IntervalEstimate
from dbdyno.analysis.probability import student_quantile_upper

LOOKS_MAX = 5
ERROR = 0.05
WINDOWS_MIN = 5
_EFFECTIVE_MIN = 12.0

Judgement: TypeAlias = Literal["met", "missed", "open"]


class SequentialResult(Struct, frozen=True):
    """The judgement so far, and what it rests on.

    ``level`` is the share of bad transactions, or the mean, with its 95 % interval as of one look.
    """

    judgement: Judgement
    level: IntervalEstimate
    windows: int
    windows_effective: float


def judge_share(
    bad: Series, total: Series, allowed: float, error: float = ERROR
) -> SequentialResult:
    """Whether no larger share than allowed is bad, from the counts of each window."""
    # Of independent transactions, were the share that which is allowed.
    least = math.sqrt((1 - allowed) / (allowed * max(float(total.sum()), 1.0)))
    return _judged(bad, total, allowed, least, error)


def judge_mean(
    means: Series, counts: Series, limit: float, error: float = ERROR
) -> SequentialResult:
    """Whether the mean over all transactions is below the limit, from those of each window."""
    return _judged(means * counts, counts, limit, 0.0, error)


def _judged(
    amount: Series, count: Series, limit: float, least: float, error: float
) -> SequentialResult:
    """Of Σ amount / Σ count; ``least`` is the smallest relative error that it may have."""
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
    return SequentialResult(
        judgement=_judgement(_distance(level, limit, relative), reach, _skewness(rest), effective),
        level=_ranged(level, relative, seen, effective),
        windows=windows,
        windows_effective=effective,
    )


def _distance(level: float, limit: float, relative: float) -> float:
    """From the level to the limit in standard errors; of nothing at all, by the limit's own."""
    return (math.log(level / limit) if level else -1.0) / relative


def _judgement(distance: float, reach: float, skewness: float, effective: float) -> Judgement:
    corrected = _without_skew(distance, skewness / math.sqrt(effective))
    if max(distance, corrected) < -reach and effective >= _EFFECTIVE_MIN:
        return "met"
    return "missed" if distance > reach else "open"


def _without_skew(t: float, skew: float) -> float:
    """Hall's cubic: it grows with t however far from 0 that is, which Johnson's square does not.

    With the square, a level far below its limit would be corrected to one far above.
    """
    return t + skew * t**2 / 3 + skew**2 * t**3 / 27 + skew / 6


def _skewness(rest: Series) -> float:
    deviation = float(rest.std(ddof=1))
    return float((rest**3).mean()) / deviation**3 if deviation else 0.0


def _ranged(level: float, relative: float, count: float, effective: float) -> IntervalEstimate:
    """As of one look; of none in so many at most −ln 0.025 (3.7) were to be expected."""
    if not level:
        return IntervalEstimate(level, 0.0, -math.log(0.025) / count)
    factor = math.exp(student_quantile_upper(0.975, effective - 1) * relative)
    return IntervalEstimate(level, level / factor, level * factor)
