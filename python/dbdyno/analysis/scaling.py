"""How throughput grows with the number of clients: the Universal Scalability Law.

X(N) = λN / (1 + σ(N − 1) + κN(N − 1)): λ is the throughput of one client alone, σ the serial share
of its work (contention), κ the cost of coherency between clients (crosstalk) (Gunther, *Guerrilla
Capacity Planning*, 2007, §4). A peak is claimed only if κ is significantly above 0 and runs lie on
both sides of the peak, and never by a law that does not fit: throughput that rises up to the number
of cores and then stays flat does not have this shape. It still has a knee, which then comes from
the means alone.
"""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from dbdyno.analysis.estimate import Series
from dbdyno.analysis.interval_estimate import IntervalEstimate, percentile_interval
from dbdyno.analysis.scaling_noise import Grid, drawn_means, drawn_series, misfit_p
from dbdyno.analysis.usl import Usl, fit

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
    is_structured = _is_structured(grid, law, misfit)
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


def _is_structured(grid: Grid, law: Usl, misfit: float) -> bool | None:
    p = misfit_p(grid, np.log(law.tps(grid.levels)), unknowns=3)
    return None if p is None else p < _ALPHA and misfit > _MISFIT_MIN


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
