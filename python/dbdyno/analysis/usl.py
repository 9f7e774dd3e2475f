"""Fits the Universal Scalability Law, to many series at once.

N/X(N) = ((1 − σ) + σN + κN(N − 1))/λ is linear in the three coefficients (1 − σ)/λ, σ/λ and κ/λ, so
the least squares on logarithms are a few steps of linear ones, each weighted by the law of the
previous step (Gauss–Newton). The law allows 0 ≤ σ ≤ 1 and κ ≥ 0, which is the same as none of the
three being negative; so the best of the ways to leave some of them out is the constrained optimum.
"""

import math
from itertools import product

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from dbdyno.analysis.estimate import Series

_STEPS = 12

Matrix = NDArray[np.float64]


class Usl(Struct, frozen=True):
    """λ, σ and κ."""

    one_client_tps: float
    contention: float
    crosstalk: float

    def tps(self, clients: Series) -> Series:
        """Throughput by the law at these numbers of clients."""
        shared = self.contention * (clients - 1) + self.crosstalk * clients * (clients - 1)
        throughput: Series = self.one_client_tps * clients / (1 + shared)
        return throughput

    def tps_at(self, clients: float) -> float:
        """Throughput by the law at one number of clients."""
        return float(self.tps(np.array(clients)))

    @property
    def peak_clients(self) -> float:
        """Clients at the maximum of the law; infinite without crosstalk."""
        if not self.crosstalk:
            return math.inf
        return max(math.sqrt((1 - self.contention) / self.crosstalk), 1.0)


def fit(clients: Series, logarithms: Matrix) -> list[Usl]:
    """Fit the law to each row of logarithms of throughput, one column per run."""
    times = np.log(clients) - logarithms
    design = np.stack([np.ones_like(clients), clients, clients * (clients - 1)], axis=-1)
    coefficients = _non_negative(design / np.exp(times)[..., None], np.ones_like(times))
    for _ in range(_STEPS):
        fitted = coefficients @ design.T
        target = 1 + times - np.log(fitted)
        coefficients = _non_negative(design / fitted[..., None], target)
    return [_law(row) for row in coefficients]


def _law(coefficients: Series) -> Usl:
    parallel, serial, crosstalk = (float(one) for one in coefficients)
    alone = parallel + serial
    return Usl(1 / alone, serial / alone, crosstalk / alone)


def _non_negative(design: Matrix, target: Matrix) -> Matrix:
    """Least squares with no coefficient below 0, and a client alone that takes some time.

    That time is the sum of the first two coefficients, so at least one of them is not left out.
    """
    best = np.zeros((len(target), design.shape[-1]))
    least = np.full(len(target), np.inf)
    for chosen in product((True, False), repeat=design.shape[-1]):
        if not any(chosen[:2]):
            continue
        columns = np.flatnonzero(chosen)
        found, missed = _least_squares(design[..., columns], target)
        better = (found[:, 0] > 0) & (found >= 0).all(axis=1) & (missed < least)
        best[better] = 0
        best[np.ix_(better, columns)] = found[better]
        least = np.where(better, missed, least)
    return best


def _least_squares(design: Matrix, target: Matrix) -> tuple[Matrix, Series]:
    """Solution for each row, and the residual sum of squares."""
    # Scale columns to equal length: squares of the number of clients would dominate the others.
    scale = np.linalg.norm(design, axis=1, keepdims=True)
    scaled = design / scale
    transposed = np.swapaxes(scaled, 1, 2)
    found = np.linalg.solve(transposed @ scaled, transposed @ target[..., None])
    missed = (scaled @ found)[..., 0] - target
    return found[..., 0] / scale[:, 0, :], (missed**2).sum(axis=1)
