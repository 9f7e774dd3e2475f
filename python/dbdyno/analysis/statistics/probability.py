"""The probability distributions behind the verdicts.

The analysis needs only scipy's special functions. They are imported when first called: this takes
longer than summarizing a run, and most commands compare nothing. What summarizing a run needs is
implemented here.
"""

import math
from functools import cache
from typing import Any

import numpy as np

# Of Student's t with infinite degrees of freedom: a lower bound for finite ones.
_NORMAL_QUANTILE = 1.959964
_NEWTON_STEPS = 8
_PANELS = 64
_CONFIDENCE = 0.95


@cache
def _special() -> Any:
    from scipy import special  # noqa: PLC0415 - see above

    return special


def student_p(statistic: float, freedom: float) -> float:
    """Two-sided p: how often chance alone gives a t at least this far from 0."""
    return float(2 * _special().stdtr(freedom, -abs(statistic)))


def student_quantile(freedom: float) -> float:
    """The 97.5 % quantile of Student's t; degrees of freedom need not be whole.

    With t = √ν·tan θ the probability between −t and t is ∫₀^θ cos^(ν−1) over the same integral up
    to a right angle, √π/2 · Γ(ν/2)/Γ((ν+1)/2). That integral is concave and the search begins below
    the root, so Newton's steps never overshoot it. Implemented here because importing scipy takes
    longer than everything else in summarizing a run.
    """
    nu = max(freedom, 1.0)
    whole = math.exp(math.lgamma(nu / 2) - math.lgamma((nu + 1) / 2)) * math.sqrt(math.pi) / 2
    angle = math.atan(_NORMAL_QUANTILE / math.sqrt(nu))
    for _ in range(_NEWTON_STEPS):
        missing = _CONFIDENCE * whole - _cosine_power_integral(angle, nu - 1)
        angle += missing / math.cos(angle) ** (nu - 1)
    return math.sqrt(nu) * math.tan(angle)


def student_quantile_two_sided(confidence: float, freedom: float) -> float:
    """The t for which this share of the distribution lies between −t and t."""
    return float(_special().stdtrit(freedom, (1 + confidence) / 2))


def detectable_shift(power: float, limit: float, freedom: float) -> float:
    """Distance from 0, in standard errors, at which t passes the limit with this power.

    The noncentrality of Student's distribution; the far tail, where a change would be taken for its
    opposite, is ignored.
    """
    return float(_special().nctdtrinc(freedom, 1 - power, limit))


def chi_square_quantile(share: float, freedom: float) -> float:
    """The value below which this share of the chi-square distribution lies."""
    return float(_special().chdtri(freedom, 1 - share))


def variance_ratio_p(ratio: float, freedom: float, other: float) -> float:
    """How often chance alone gives a ratio of two variances this large (Fisher's F)."""
    return float(_special().fdtrc(freedom, other, ratio))


def student_quantile_upper(share: float, freedom: float) -> float:
    """The value below which this share of Student's distribution lies."""
    return float(_special().stdtrit(freedom, share))


def _cosine_power_integral(end: float, power: float) -> float:
    """∫₀^end cos^power, by Simpson's rule."""
    values = np.cos(np.linspace(0, end, _PANELS + 1)) ** power
    inner = 4 * values[1::2].sum() + 2 * values[2:-1:2].sum()
    return float(values[0] + inner + values[-1]) * end / (3 * _PANELS)
