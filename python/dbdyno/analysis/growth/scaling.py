"""How throughput grows with the number of clients: the Universal Scalability Law.

X(N) = λN / (1 + σ(N − 1) + κN(N − 1)): λ is the throughput of one client alone, σ the serial share
of its work (contention), κ the cost of coherency between clients (crosstalk) (Gunther, *Guerrilla
Capacity Planning*, 2007, §4). A peak is claimed only if κ is significantly above 0 and runs lie on
both sides of the peak, and never by a law that does not fit: throughput that rises up to the number
of cores and then stays flat does not have this shape. It still has a knee, which then comes from
the means alone.

Fits the Universal Scalability Law, to many series at once.

N/X(N) = ((1 − σ) + σN + κN(N − 1))/λ is linear in the three coefficients (1 − σ)/λ, σ/λ and κ/λ, so
the least squares on logarithms are a few steps of linear ones, each weighted by the law of the
previous step (Gauss–Newton). The law allows 0 ≤ σ ≤ 1 and κ ≥ 0, which is the same as none of the
three being negative; so the best of the ways to leave some of them out is the constrained optimum.
"""

import math
from collections.abc import Sequence
from itertools import product

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from dbdyno.analysis.growth.scaling_noise import Grid, drawn_means, drawn_series, misfit_p
from dbdyno.analysis.statistics.estimate import IntervalEstimate, Series, percentile_interval

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
    return [
        Usl(1 / (parallel + serial), serial / (parallel + serial), crosstalk / (parallel + serial))
        for parallel, serial, crosstalk in coefficients.tolist()
    ]


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


LEVELS_MIN = 4
KNEE_SHARE = 0.05
# A smaller misfit does not matter, however significant.
_MISFIT_MIN = 0.03
_ALPHA = 0.05
_SEED = 1


class Measurement(Struct, frozen=True):
    """One run at a number of clients; runs of one block were measured together."""

    clients: int
    tps: float
    block: int = 0


class Scaling(Struct, frozen=True, kw_only=True):
    """The law, the knee, and how far both can be trusted."""

    law: Usl
    one_client_tps: IntervalEstimate
    contention: IntervalEstimate
    """σ"""
    crosstalk: IntervalEstimate
    """κ"""
    peak: IntervalEstimate | None
    """Clients at the peak; None if the runs show none, or not that throughput rises up to it."""
    knee: IntervalEstimate
    """The fewest clients with which throughput is within 5 % of its best.

    By the law if it fits, otherwise one of the measured numbers of clients.
    """
    best: Measurement
    """The best number of clients measured, with the mean of its runs."""
    misfit: float
    """Typical deviation of the law from the means, as a share of them."""
    is_structured: bool | None
    """Whether it deviates more than noise explains; None if no number was measured twice."""
    fewest: Measurement
    """The fewest clients measured, with the mean of their runs."""
    most: Measurement
    """The most clients measured, with the mean of their runs."""
    still_rises: bool
    """Whether they had a higher throughput than any smaller number."""

    @property
    def clients_max(self) -> int:
        """The most clients measured."""
        return self.most.clients


def scaling(runs: Sequence[Measurement]) -> Scaling | None:
    """Fit the law to these runs; None with fewer than four numbers of clients."""
    running = [run for run in runs if run.tps > 0]
    if len({run.clients for run in running}) < LEVELS_MIN:
        return None
    grid = Grid.of([(run.clients, run.tps, run.block) for run in running])
    law = fit(grid.at, grid.logarithms[None])[0]
    chance = np.random.default_rng(_SEED)
    laws = fit(grid.at, drawn_series(grid, np.log(law.tps(grid.at)), chance))
    misfit = float(np.sqrt(np.mean((grid.means - np.log(law.tps(grid.levels))) ** 2)))
    p = misfit_p(grid, np.log(law.tps(grid.levels)), unknowns=3)
    is_structured = None if p is None else p < _ALPHA and misfit > _MISFIT_MIN
    return Scaling(
        law=law,
        one_client_tps=_ranged(law.one_client_tps, [one.one_client_tps for one in laws]),
        contention=_ranged(law.contention, [one.contention for one in laws]),
        crosstalk=_ranged(law.crosstalk, [one.crosstalk for one in laws]),
        peak=None if is_structured else _peak(law, laws, grid),
        knee=_knee_of_law(law, laws, grid)
        if is_structured is False
        else _knee_of_means(grid, chance),
        best=_mean_at(grid, int(grid.means.argmax())),
        misfit=misfit,
        is_structured=is_structured,
        fewest=_mean_at(grid, 0),
        most=_mean_at(grid, -1),
        still_rises=bool(_first_near_best(grid.levels, grid.means[None])[0] == grid.levels[-1]),
    )


def _ranged(value: float, drawn: Sequence[float]) -> IntervalEstimate:
    return percentile_interval(value, np.array(drawn, dtype=np.float64))


def _peak(law: Usl, laws: Sequence[Usl], grid: Grid) -> IntervalEstimate | None:
    """None if the interval of κ contains 0, or runs do not lie on both sides of the peak.

    Throughput is known to rise to the peak only if its interval lies above the fewest clients.
    """
    crosstalk = _ranged(law.crosstalk, [one.crosstalk for one in laws])
    if not crosstalk.low or law.peak_clients > grid.levels[-1]:
        return None
    peak = _ranged(law.peak_clients, [one.peak_clients for one in laws])
    return peak if peak.low is None or peak.low > grid.levels[0] else None


def _knee_of_law(law: Usl, laws: Sequence[Usl], grid: Grid) -> IntervalEstimate:
    clients = np.arange(1, grid.levels[-1] + 1)
    series = np.stack([one.tps(clients) for one in (law, *laws)])
    knees = _first_near_best(clients, np.log(series))
    return percentile_interval(float(knees[0]), knees[1:])


def _knee_of_means(grid: Grid, chance: np.random.Generator) -> IntervalEstimate:
    value = float(_first_near_best(grid.levels, grid.means[None])[0])
    drawn = drawn_means(grid, chance)
    if drawn is None:
        return IntervalEstimate(value, None, None)
    return percentile_interval(value, _first_near_best(grid.levels, drawn))


def _first_near_best(clients: Series, logarithms: Series) -> Series:
    """In each row the first number of clients whose throughput is near the row's best."""
    near = logarithms >= logarithms.max(axis=1, keepdims=True) + np.log(1 - KNEE_SHARE)
    first: Series = clients[near.argmax(axis=1)]
    return first


def _mean_at(grid: Grid, place: int) -> Measurement:
    return Measurement(int(grid.levels[place]), float(np.exp(grid.means[place])))
