"""The probability distributions that verdicts rest on.

All of scipy that the analysis needs is its special functions, imported when first called: they
take longer to load than a run takes to be summed up, and most commands compare nothing.
"""

from functools import cache
from typing import Any


@cache
def _special() -> Any:
    from scipy import special  # noqa: PLC0415 - see above

    return special


def student_p(statistic: float, freedom: float) -> float:
    """How often chance alone gives a t at least so far from 0, on either side."""
    return float(2 * _special().stdtr(freedom, -abs(statistic)))


def student_quantile_two_sided(confidence: float, freedom: float) -> float:
    """The t that holds so large a share of the law between −t and t."""
    return float(_special().stdtrit(freedom, (1 + confidence) / 2))


def detectable_shift(power: float, limit: float, freedom: float) -> float:
    """How far from 0, in standard errors, t must be centred to pass the limit so often.

    The noncentrality of Student's law; the far side, where a change would be taken for its
    opposite, is left out.
    """
    return float(_special().nctdtrinc(freedom, 1 - power, limit))


def chi_square_quantile(share: float, freedom: float) -> float:
    """Below it lies so large a share of the law."""
    return float(_special().chdtri(freedom, 1 - share))


def variance_ratio_p(ratio: float, freedom: float, other: float) -> float:
    """How often chance alone gives a ratio of two variances so large (Fisher's F)."""
    return float(_special().fdtrc(freedom, other, ratio))


def student_quantile_upper(share: float, freedom: float) -> float:
    """Below it lies so large a share of Student's law."""
    return float(_special().stdtrit(freedom, share))
