"""The probability distributions behind the verdicts.

The analysis needs only scipy's special functions. They are imported when first called: this takes
longer than summarising a run, and most commands compare nothing.
"""

from functools import cache
from typing import Any


@cache
def _special() -> Any:
    from scipy import special  # noqa: PLC0415 - see above

    return special


def student_p(statistic: float, freedom: float) -> float:
    """Two-sided p: how often chance alone gives a t at least this far from 0."""
    return float(2 * _special().stdtr(freedom, -abs(statistic)))


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
