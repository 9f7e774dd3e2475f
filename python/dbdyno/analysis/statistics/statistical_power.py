"""The effect that a number of runs can detect, and the runs that it takes to detect less.

Answered from the noise between existing runs, the pilot. That noise is itself estimated from few
runs, so the number of repeats has an interval, often a wide one: the price of a pilot of three.
"""

import math

from msgspec import Struct

from dbdyno.analysis.statistics.probability import (
    chi_square_quantile,
    detectable_shift,
    student_quantile_two_sided,
)
from dbdyno.model.comparison import Repeats

POWER = 0.8
REPEATS_MAX = 10_000
_CONFIDENCE = 0.95


class Spread(Struct, frozen=True):
    """How repeats vary. An effect from n of them has the variance ``variance / n``.

    ``freedom`` is the pilot's degrees of freedom, ``freedom_each`` the number that a repeat adds: 1
    for a pair, up to 2 for one more run on each side.
    """

    variance: float
    freedom: float
    freedom_each: float = 1.0


def detectable(spread: Spread, repeats: int, alpha: float) -> float:
    """The smallest effect (on logarithms) that this many repeats detect with power 0.8.

    δ = nc·√(v/n), with nc the noncentrality at which Student's t passes its limit with that power
    (Cohen, *Statistical Power Analysis*, 1988, §2).
    """
    freedom = spread.freedom_each * (repeats - 1)
    limit = student_quantile_two_sided(1 - alpha, freedom)
    return detectable_shift(POWER, limit, freedom) * math.sqrt(spread.variance / repeats)


def repeats_for(effect: float, spread: Spread, alpha: float) -> int:
    """The smallest number of repeats that detects this effect with power 0.8.

    Found by bisection, because the limit and the power both depend on the number. At most
    ``REPEATS_MAX``.
    """
    few, enough = 1, REPEATS_MAX
    while enough - few > 1:
        middle = (few + enough) // 2
        if detectable(spread, middle, alpha) <= effect:
            enough = middle
        else:
            few = middle
    return enough


def more_repeats(effect: float, spread: Spread, have: int, alpha: float) -> Repeats:
    """Additional repeats needed; the interval comes from that of the pilot's variance.

    v·ν/χ²(0.975, ν) to v·ν/χ²(0.025, ν): the effect is taken as given. Its sign makes no difference
    to the number, only to the share by which something rises or falls.
    """
    low, high = (
        Spread(variance, spread.freedom, spread.freedom_each)
        for variance in _variance_interval(spread)
    )
    wanted, least, most = (repeats_for(abs(effect), one, alpha) for one in (spread, low, high))
    return Repeats(
        more=max(wanted - have, 1),
        low=max(least - have, 1),
        high=max(most - have, 1) if most < REPEATS_MAX else None,
        finds=abs(math.expm1(effect)),
    )


def _variance_interval(spread: Spread) -> tuple[float, float]:
    tail = (1 - _CONFIDENCE) / 2
    upper, lower = (chi_square_quantile(share, spread.freedom) for share in (1 - tail, tail))
    total = spread.variance * spread.freedom
    return total / upper, total / lower
